// Four ways to count one minute (part 10): the rules of other engines as functions of a job, over the same
// clicks.
#include <algorithm>

#include "tests/story/typed_job.h"

namespace strand::story {
namespace {

using strandline::Collector;
using strandline::Millis;
using strandline::OnTimerContext;

constexpr int64_t kMinute = 60'000;
constexpr int64_t kAllowed = 5'000;  // grace, or threshold

const strandline::OutputTag<ExceptionRow> kDropped{"dropped"};

int64_t end_of_minute(const TypedClick& click) {
  return (strandline::millis_of(click.ts) / kMinute + 1) * kMinute;
}
MinuteRow row_of(const std::string& ad, int64_t end, int64_t n) {
  return {ad, "M" + format_utc_time(end - kMinute).substr(0, 5), n};
}
ExceptionRow dropped(const TypedClick& click) {
  return {"dropped", click.click_id, click.ad_id, click.ts, click.ts};
}

/// Kafka Streams: stream time is the highest event time so far of what a task reads; a click is dropped when
/// its minute ended by stream time - grace. Each change of a count is told.
class StreamTime : public strandline::KeyedProcessFunction<std::string, TypedClick, MinuteRow> {
 public:
  void process_element(const TypedClick& click, strandline::KeyedContext<std::string>& context,
                       Collector<MinuteRow>& out) override {
    int64_t& stream_time = stream_time_[context.current_key()];
    stream_time = std::max(stream_time, strandline::millis_of(click.ts));
    if (end_of_minute(click) <= stream_time - kAllowed) return context.output(kDropped, dropped(click));
    const int64_t end = end_of_minute(click);
    out.collect(row_of(click.ad_id, end, ++counts_[{click.ad_id, end}]));
  }

 private:
  std::map<std::string, int64_t> stream_time_;
  std::map<std::pair<std::string, int64_t>, int64_t> counts_;
};

/// Spark: each `trigger` of the clock a batch of what has come; its watermark is the highest event time of
/// the batches before it - threshold. Minutes at or below the watermark are dropped, and appended once.
class MicroBatches : public strandline::KeyedProcessFunction<std::string, TypedClick, MinuteRow> {
 public:
  explicit MicroBatches(int64_t trigger) : trigger_(trigger) {}
  void process_element(const TypedClick& click, strandline::KeyedContext<std::string>& context,
                       Collector<MinuteRow>&) override {
    if (batch_.empty()) {
      const int64_t now = strandline::millis_of(context.current_processing_time());
      context.register_processing_time_timer(
          strandline::ProcessingTime(Millis((now / trigger_ + 1) * trigger_)));
    }
    batch_.push_back(click);
  }
  void on_timer(OnTimerContext<std::string>& context, Collector<MinuteRow>& out) override {
    int64_t highest = highest_;
    for (const TypedClick& click : batch_) {
      const int64_t end = end_of_minute(click);
      highest = std::max(highest, strandline::millis_of(click.ts));
      end <= highest_ - kAllowed ? context.output(kDropped, dropped(click))
                                 : void(++counts_[{end, click.ad_id}]);
    }
    batch_.clear();
    highest_ = highest;
    for (auto at = counts_.begin(); at != counts_.end() && at->first.first <= highest_ - kAllowed;
         at = counts_.erase(at))
      out.collect(row_of(at->first.second, at->first.first, at->second));
  }

 private:
  int64_t trigger_;
  int64_t highest_ = 0;
  std::vector<TypedClick> batch_;
  std::map<std::pair<int64_t, std::string>, int64_t> counts_;
};

/// The clicks of the first run, in the order in which they are read.
template <class F, class KeyOf, class... Args>
TypedRun first_run(KeyOf key_of, Args... args) {
  sim::StoryBranch branch;
  branch.crashes.clear();
  branch.slow_sink = false;
  branch.until = story_time("10:15:45");
  std::erase_if(branch.clicks, [](const auto& click) { return click.read >= story_time("10:15:35"); });
  return TypedRun(
      [=](strandline::Job& job) {
        const auto counted = distinct_clicks(job).key_by(key_of).template process<F>(args...);
        counted.write(strandline::table_of<MinuteRow>("ad_metrics", {{"connector", "storystore"}},
                                                      {"entity", "bucket"}),
                      "fast");
        counted.side_output(kDropped).write(
            strandline::table_of<ExceptionRow>("exceptions", {{"connector", "storylog"}}), "strand");
      },
      branch);
}
std::string everywhere(const TypedClick&) { return "all"; }
const StoryRun& kafka_streams() {
  static const TypedRun run = first_run<StreamTime>(everywhere);
  return *run;
}
const StoryRun& spark(int64_t trigger) {
  static std::map<int64_t, std::unique_ptr<TypedRun>> runs;
  auto& run = runs[trigger];
  if (!run) run = std::make_unique<TypedRun>(first_run<MicroBatches>(everywhere, trigger));
  return **run;
}

int64_t of(const StoryRun& run, const char* key) {
  return cell(run.moments().back().metrics, key, "fast_valid").value_or(0);
}
std::vector<std::string> dropped_by(const StoryRun& run) {
  std::vector<std::string> out;
  for (const auto& row : run.exceptions()) out.push_back(row.click_id);
  return out;
}
std::string minute_and_dropped(const StoryRun& run) {
  return tuple(of(run, "ad_7 M10:14"), of(run, "ad_9 M10:14"), list_of(dropped_by(run)));
}
/// Both minutes before 10:15 of both ads.
int64_t total(const StoryRun& run) {
  return of(run, "ad_7 M10:13") + of(run, "ad_7 M10:14") + of(run, "ad_9 M10:14");
}

TEST(Engines, F264_F265_StreamTimeWithGrace) {
  fact("F264", minute_and_dropped(kafka_streams()));
  fact("F265", minute_and_dropped(*first_run<StreamTime>(&TypedClick::ad_id)));
}

TEST(Engines, F266_F267_F268_F269_MicroBatches) {
  fact("F266", minute_and_dropped(spark(1'000)));
  fact("F267", minute_and_dropped(spark(10'000)));
  const auto with_30_s = dropped_by(spark(30'000));
  fact("F268", text(std::ranges::find(with_30_s, "c12") == with_30_s.end()));
  fact("F269", text(first_write(spark(10'000), "ad_9 M10:14").at));
}

TEST(Engines, F273_F275_F276_OnlyARecountAndOurReplayHaveEverything) {
  const StoryTable& first = story("main").at("10:15:39.9").metrics;
  const StoryRun& replay = story("main");
  const StoryRun& recount = story("recount");
  fact("F273", list(cell(first, "ad_9 M10:14", "fast_valid"), of(replay, "ad_9 M10:14"),
                    of(kafka_streams(), "ad_9 M10:14"), of(spark(10'000), "ad_9 M10:14"),
                    of(recount, "ad_9 M10:14")));
  fact("F275", tuple(cell(first, "ad_7 M10:13", "fast_valid"), of(kafka_streams(), "ad_7 M10:13"),
                     of(spark(10'000), "ad_7 M10:13"), of(recount, "ad_7 M10:13")));
  fact("F276", tuple(total(kafka_streams()), total(spark(10'000)), total(recount)));
}

}  // namespace
}  // namespace strand::story
