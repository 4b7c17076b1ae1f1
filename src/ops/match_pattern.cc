#include "ops/match_pattern.h"

#include <numeric>

namespace strand::ops {

using expr::MatchSkip;

uint64_t MatchRun::rows() const { return std::accumulate(counts.begin(), counts.end(), uint64_t{0}); }

uint64_t MatchRun::first_of(size_t variable) const {
  return std::accumulate(counts.begin(), counts.begin() + static_cast<std::ptrdiff_t>(variable), start);
}

/// A run is complete when nothing more is needed, and open while more may come; it can be both.
void MatchPattern::add(MatchRun run, MatchRuns& next) const {
  bool complete = run.counts[run.at] >= variables_[run.at].min;
  for (size_t i = run.at + 1; i < variables_.size(); ++i) complete = complete && variables_[i].min == 0;
  if (complete) next.complete.push_back(run);
  if (has_room(run) || run.at + 1 < variables_.size()) next.open.push_back(std::move(run));
}

void MatchPattern::expire(int64_t time, Duration within, MatchRuns& runs) {
  std::erase_if(runs.open,
                [&](const MatchRun& run) { return EventTime{run.start_time} + within <= EventTime{time}; });
}

/// Rows before the one of this number begin no match any more.
Result<uint64_t> MatchPattern::next_start(const MatchRun& match) const {
  if (skip_ == MatchSkip::kPastLastRow) return match.start + match.rows();
  if (skip_ == MatchSkip::kToNextRow) return match.start + 1;
  const std::string& name = variables_[skip_to_].name;
  const std::string where =
      std::string("AFTER MATCH SKIP TO ") + (skip_ == MatchSkip::kToFirst ? "FIRST " : "LAST ");
  if (match.counts[skip_to_] == 0) {
    return Status(ErrorCode::kBadValue, where + name + ": the match has no row of " + name)
        .hint("SKIP PAST LAST ROW, or to a variable that every match has");
  }
  const uint64_t behind = skip_ == MatchSkip::kToFirst ? 0 : match.counts[skip_to_] - 1;
  const uint64_t next = match.first_of(skip_to_) + behind;
  if (next != match.start) return next;
  return Status(ErrorCode::kBadValue,
                where + name + " would find the same match again: it begins with that row")
      .hint("SKIP TO NEXT ROW, or to a variable behind the first");
}

Result<std::optional<MatchRun>> MatchPattern::take(MatchRuns& runs) const {
  if (runs.complete.empty()) return std::optional<MatchRun>();
  if (!runs.open.empty() && runs.open.front().start < runs.complete.front().start)
    return std::optional<MatchRun>();
  MatchRun match = std::move(runs.complete.front());
  STRAND_TRY(const uint64_t next, next_start(match));
  runs.complete.erase(runs.complete.begin());
  const auto before = [next](const MatchRun& run) { return run.start < next; };
  std::erase_if(runs.open, before);
  std::erase_if(runs.complete, before);
  return std::optional<MatchRun>(std::move(match));
}

}  // namespace strand::ops
