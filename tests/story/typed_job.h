// The story's clicks as typed streams of the C++ API: windows that SQL has no words for, and functions.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "base/text.h"
#include "strandline/stream.h"
#include "tests/story/sql_run.h"

namespace strand::story {

struct TypedClick {
  std::string click_id;
  std::string ad_id;
  strandline::Timestamp ts;
  static auto fields() {
    return strandline::fields("click_id", &TypedClick::click_id, "ad_id", &TypedClick::ad_id, "ts",
                              &TypedClick::ts);
  }
};
/// A row of ad_metrics.
struct MinuteRow {
  std::string entity;
  std::string bucket;
  int64_t fast_valid = 0;
  static auto fields() {
    return strandline::fields("entity", &MinuteRow::entity, "bucket", &MinuteRow::bucket, "fast_valid",
                              &MinuteRow::fast_valid);
  }
};
/// A row of the exceptions, as `storylog` reads them.
struct ExceptionRow {
  std::string verdict;
  std::string click_id;
  std::string ad_id;
  strandline::Timestamp ts;
  strandline::Timestamp judge;
  static auto fields() {
    return strandline::fields("verdict", &ExceptionRow::verdict, "click_id", &ExceptionRow::click_id, "ad_id",
                              &ExceptionRow::ad_id, "ts", &ExceptionRow::ts, "judge", &ExceptionRow::judge);
  }
};

/// Bound 5 s, and idle after 30 s if asked for.
strandline::Stream click_rows(strandline::Job& job, bool idle = true);
/// The first click of each id, kept for two hours after its impression.
strandline::DataStream<TypedClick> distinct_clicks(strandline::Job& job, bool idle = true);

struct CountClicks {
  int64_t create_accumulator() const { return 0; }
  void add(int64_t& n, const TypedClick&) const { ++n; }
  int64_t get_result(const int64_t& n) const { return n; }
  void merge(int64_t& n, const int64_t& other) const { n += other; }
};
/// "M10:14" of the window.
class MinuteOf : public strandline::ProcessWindowFunction<std::string, int64_t, MinuteRow> {
 public:
  void process(strandline::WindowContext<std::string>& context, const std::vector<int64_t>& counts,
               strandline::Collector<MinuteRow>& out) override {
    const std::string start = format_utc_time(strandline::millis_of(context.window()->start));
    out.collect({context.current_key(), "M" + start.substr(0, 5), counts.front()});
  }
};
/// Counts of the windows, into ad_metrics by writer `fast`.
strandline::WindowResult<MinuteRow, TypedClick> count_into_metrics(
    const strandline::WindowedDataStream<std::string, TypedClick>& windows);

/// The run of a job; closed rows are refused if asked for.
class TypedRun {
 public:
  using Build = std::function<void(strandline::Job&)>;
  TypedRun(const Build& build, const sim::StoryBranch& branch, bool closed_rows = false);
  const StoryRun& operator*() const { return *run_; }
  const StoryRun* operator->() const { return run_.get(); }

 private:
  plan::Plan plan_;
  std::unique_ptr<StoryRun> run_;
};

/// Ads whose rows of ad_metrics do not add up to the distinct clicks of the branch.
std::vector<std::string> miscounted(const StoryRun& run, const sim::StoryBranch& branch);

}  // namespace strand::story
