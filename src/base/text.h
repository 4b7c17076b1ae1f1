// Text of times and durations as users read and write them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/status.h"

namespace strand {

/// Flink's duration texts: `500 ms`, `1 s`, `2 min`, `1 h`, `3 d`, also `1s`, `PT5S`-free. A bare number is
/// milliseconds. Errors: kBadOption.
Result<Duration> parse_duration(std::string_view text);
/// The shortest exact form: `1.5 s`, `30 s`, `2 min`, `250 ms`.
std::string format_duration(Duration d);

/// `2026-02-08T10:14:20.400Z`
std::string format_utc(int64_t epoch_millis);
/// `10:14:20.400`
std::string format_utc_time(int64_t epoch_millis);
/// `10:14:20.400`, or `none` for EventTime::min(), `end of input` for max().
std::string format_event_time(EventTime t);
/// Parses `2026-02-08T10:14:20.400Z` and `2026-02-08 10:14:20[.fff]` (UTC) to epoch milliseconds.
std::optional<int64_t> parse_utc(std::string_view text);

/// The entry of `candidates` nearest to `word` by edit distance, if one is near enough to be what was meant.
template <class Range>
std::optional<std::string> nearest(std::string_view word, const Range& candidates);
size_t edit_distance(std::string_view a, std::string_view b);

template <class Range>
std::optional<std::string> nearest(std::string_view word, const Range& candidates) {
  std::optional<std::string> best;
  size_t best_distance = word.size() / 3 + 2;
  for (const auto& candidate : candidates) {
    const size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = std::string(candidate);
    }
  }
  return best;
}

}  // namespace strand
