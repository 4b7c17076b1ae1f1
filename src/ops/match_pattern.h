// Rows read as a pattern, without the rows: which matches are under way, which are complete, which count.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "expr/match.h"

namespace strand::ops {

/// A way to read consecutive rows of one key as the pattern. Rows are numbered in the order in which they are
/// read; a variable's rows stand side by side.
struct MatchRun {
  uint64_t start = 0;      // number of its first row
  int64_t start_time = 0;  // ms
  size_t at = 0;           // the variable that took the last row
  std::vector<uint32_t> counts;

  uint64_t rows() const;
  /// The number of a variable's first row.
  uint64_t first_of(size_t variable) const;
};

/// What is under way for one key. Both lists are in the order of their starts.
struct MatchRuns {
  std::vector<MatchRun> open;
  std::vector<MatchRun> complete;  // but an earlier one may yet become a match
};

/// The rules of MATCH_RECOGNIZE for one pattern. Source: Flink's NFA with strict contiguity (NFACompiler,
/// NFA.process, AfterMatchSkipStrategy): every way to read the rows is followed, a row that no variable takes
/// ends a run, and a complete match waits for runs that began before it.
class MatchPattern {
 public:
  MatchPattern(std::vector<expr::MatchVariable> variables, expr::MatchSkip skip, size_t skip_to)
      : variables_(std::move(variables)), skip_(skip), skip_to_(skip_to) {}
  const std::vector<expr::MatchVariable>& variables() const { return variables_; }

  /// One more row, of this number and time. `takes(run)` says whether the condition of run.at holds for it,
  /// as the last row of that run; it is asked at most once for each variable of a run.
  template <class Takes>
  Status read(uint64_t row, int64_t time, MatchRuns& runs, Takes&& takes) const;
  /// Gives up runs that began `within` before `time`, or earlier.
  static void expire(int64_t time, Duration within, MatchRuns& runs);
  /// Takes out the next match; nothing while an earlier one is open. Error: kBadValue where the next match
  /// could not begin where AFTER MATCH says.
  Result<std::optional<MatchRun>> take(MatchRuns& runs) const;

 private:
  template <class Takes>
  Status follow(const MatchRun& run, bool begun, MatchRuns& next, Takes& takes) const;
  /// The row as one more of variable `at`, if it takes it.
  template <class Takes>
  Result<bool> extend(const MatchRun& run, size_t at, MatchRuns& next, Takes& takes, bool keep) const;
  void add(MatchRun run, MatchRuns& next) const;
  bool has_room(const MatchRun& run) const {
    const auto& max = variables_[run.at].max;
    return !max || run.counts[run.at] < *max;
  }
  Result<uint64_t> next_start(const MatchRun& match) const;

  std::vector<expr::MatchVariable> variables_;
  expr::MatchSkip skip_;
  size_t skip_to_;  // a variable, for kToFirst and kToLast
};

template <class Takes>
Status MatchPattern::read(uint64_t row, int64_t time, MatchRuns& runs, Takes&& takes) const {
  MatchRuns next;
  for (const MatchRun& run : runs.open) STRAND_OK(follow(run, true, next, takes));
  const MatchRun none{row, time, 0, std::vector<uint32_t>(variables_.size(), 0)};
  STRAND_OK(follow(none, false, next, takes));
  runs.open = std::move(next.open);
  for (MatchRun& run : next.complete) runs.complete.push_back(std::move(run));
  std::ranges::stable_sort(runs.complete, {}, &MatchRun::start);
  return Status();
}

template <class Takes>
Status MatchPattern::follow(const MatchRun& run, bool begun, MatchRuns& next, Takes& takes) const {
  size_t at = 0;
  if (begun) {
    const expr::MatchVariable& variable = variables_[run.at];
    const bool may_leave = run.counts[run.at] >= variable.min;
    const bool has_more = has_room(run);
    if (has_more || (may_leave && variable.greedy)) {
      STRAND_TRY(const bool taken, extend(run, run.at, next, takes, has_more));
      if (taken && variable.greedy) return Status();
    }
    if (!may_leave) return Status();
    at = run.at + 1;
  }
  for (; at < variables_.size(); ++at) {
    STRAND_TRY(const bool taken, extend(run, at, next, takes, true));
    if (variables_[at].min > 0 || (taken && variables_[at].greedy)) return Status();
  }
  return Status();
}

template <class Takes>
Result<bool> MatchPattern::extend(const MatchRun& run, size_t at, MatchRuns& next, Takes& takes,
                                  bool keep) const {
  MatchRun extended = run;
  extended.at = at;
  ++extended.counts[at];
  STRAND_TRY(const bool taken, takes(extended));
  if (taken && keep) add(std::move(extended), next);
  return taken;
}

}  // namespace strand::ops
