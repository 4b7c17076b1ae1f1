// What happened in a job, as data: the log line, the terminal line, the trace of the story and of the simulator are
// all made from these.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/ids.h"

namespace strand::obs {

enum class Level : uint8_t { kDebug, kInfo, kWarn, kError };
/// `debug`, `info`, `warn`, `error`.
std::string_view level_name(Level level);
std::optional<Level> parse_level(std::string_view name);

/// One event: a name (`window_closed`, `shard_idle`, `checkpoint`, ...), the wall time at which it was seen, and
/// fields in the order in which they are printed. `code` is 0 or the number of a message (STRAND-1103).
struct Event {
  Level level = Level::kInfo;
  int code = 0;
  std::string name{};
  WallTime at{};
  std::vector<std::pair<std::string, std::string>> fields{};

  Event& with(std::string key, std::string value) {
    fields.emplace_back(std::move(key), std::move(value));
    return *this;
  }
  Event& with(std::string key, int64_t value) { return with(std::move(key), std::to_string(value)); }
  /// The value of a field, or empty.
  std::string_view field(std::string_view key) const;
};

/// Takes events. Thread-safe; must not block for long: it is called from the workers.
class EventSink {
 public:
  virtual ~EventSink() = default;
  virtual void on_event(Event event) = 0;
};

/// `2026-02-08T10:14:50.800Z warn job=ad-clicks code=STRAND-1103 event=shard_idle shard=clicks/S3`. Values with spaces,
/// quotes or '=' are quoted.
std::string to_logfmt(const Event& event, std::string_view job);
/// The same as one JSON object.
std::string to_json(const Event& event, std::string_view job);

}  // namespace strand::obs
