#include "tests/story/typed_job.h"

#include <stdexcept>

#include "api/build.h"

namespace strand::story {

using namespace strandline;

Stream click_rows(Job& job, bool idle) {
  const Table table{
      "clicks",
      {{"click_id", "STRING"}, {"ad_id", "STRING"}, {"impression_ms", "BIGINT"}, {"device_ms", "BIGINT"}},
      {{"connector", "script"}}};
  const auto time = [](const char* column, const char* name) {
    return call("TO_TIMESTAMP_LTZ", {col(column), lit(3)}).as(name);
  };
  return job.source(
      table, {col("click_id"), col("ad_id"), time("impression_ms", "impression"), time("device_ms", "ts")},
      strandline::EventTime{"ts", Millis{5'000}, idle ? std::optional(Millis{30'000}) : std::nullopt});
}

DataStream<TypedClick> distinct_clicks(Job& job, bool idle) {
  return click_rows(job, idle)
      .key_by({"click_id"})
      .deduplicate(Retention{"impression", Millis{7'200'000}})
      .uid("distinct_clicks")
      .as<TypedClick>();
}

WindowResult<MinuteRow, TypedClick> count_into_metrics(
    const WindowedDataStream<std::string, TypedClick>& windows) {
  auto counted = windows.aggregate_and_process<MinuteOf>(CountClicks{}).uid("per_minute");
  counted.write(table_of<MinuteRow>("ad_metrics", {{"connector", "storystore"}}, {"entity", "bucket"}),
                "fast");
  return counted;
}

TypedRun::TypedRun(const Build& build, const sim::StoryBranch& branch, bool closed_rows) {
  Job job("typed");
  build(job);
  auto plan = api::plan_of(job);
  if (!plan.ok()) throw std::runtime_error(plan.status().to_string());
  plan_ = *std::move(plan);
  for (plan::NodePtr& sink : plan_.sinks) {
    if (!closed_rows) continue;
    auto changed = std::make_shared<plan::Node>(*sink);
    std::get<plan::SinkWrite>(changed->detail).closed_rows = true;
    sink = changed;
  }
  auto run = StoryRun::make(plan_, at_parallelism(branch));
  if (!run.ok()) throw std::runtime_error(run.status().to_string());
  run_ = *std::move(run);
}

std::vector<std::string> miscounted(const StoryRun& run, const sim::StoryBranch& branch) {
  std::map<std::string, std::set<std::string>> ids;
  for (const auto& click : branch.clicks) ids[click.ad].insert(click.click_id);
  std::vector<std::string> out;
  for (const auto& [ad, distinct] : ids) {
    if (counted(run.moments().back().metrics, ad) != static_cast<int64_t>(distinct.size())) out.push_back(ad);
  }
  return out;
}

}  // namespace strand::story
