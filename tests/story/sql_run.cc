#include "tests/story/sql_run.h"

#include <stdexcept>

#include "sql/compile.h"

namespace strand::story {

Clicks::Clicks() {
  branch.crashes.clear();
  branch.slow_sink = false;
  branch.clicks.clear();
  branch.snapshot_takes = {{story_time("10:12:30"), Duration{0}}};
}

Clicks& Clicks::add(const std::string& shard, const std::string& ad, const std::string& event,
                    const std::string& read) {
  const std::string label = "x" + std::to_string(branch.clicks.size());
  const EventTime time = story_event(event);
  branch.clicks.push_back({label, label, shard, ad, time - Duration{10'000}, time, story_time(read)});
  return *this;
}

Clicks& Clicks::copy(Duration after) {
  sim::StoryClick click = branch.clicks.front();
  click.label = "x" + std::to_string(branch.clicks.size());
  click.read = click.read + after;
  branch.clicks.push_back(std::move(click));
  return *this;
}

plan::Plan plan_of(const std::string& sql) {
  sql::SqlInput input;
  input.text = sql;
  input.file = "job.sql";
  auto compiled = sql::compile(input);
  if (!compiled.ok()) throw std::runtime_error(compiled.status().to_string());
  return std::move(compiled->plan);
}

SqlRun::SqlRun(const std::string& sql, const sim::StoryBranch& branch) : plan_(plan_of(sql)) {
  auto run = StoryRun::make(plan_, at_parallelism(branch));
  if (!run.ok()) throw std::runtime_error(run.status().to_string());
  run_ = *std::move(run);
}

std::string clicks_table(const std::string& bound, const std::string& more) {
  return "CREATE TABLE clicks (click_id STRING, ad_id STRING, impression_ms BIGINT, device_ms BIGINT,"
         " impression AS TO_TIMESTAMP_LTZ(impression_ms, 3), ts AS TO_TIMESTAMP_LTZ(device_ms, 3), read_time "
         "AS PROCTIME(),"
         " WATERMARK FOR ts AS ts - INTERVAL " +
         bound + ") WITH ('connector' = 'script'" + more + ");\n";
}

std::string set_table(const std::string& name, const std::string& columns) {
  return "CREATE TABLE " + name + " (" + columns + " NOT ENFORCED) WITH ('connector' = 'storystore');\n";
}

std::vector<StoryWrite> rows_of(const StoryRun& run, const std::string& key) {
  std::vector<StoryWrite> out;
  for (const StoryWrite& write : run.writes()) {
    if (!write.is_flush() && write.key.starts_with(key)) out.push_back(write);
  }
  return out;
}

int64_t last_value(const StoryRun& run, const std::string& key, const std::string& column) {
  int64_t value = 0;
  for (const StoryWrite& write : rows_of(run, key)) {
    if (write.key == key) value = write.number(column).value_or(value);
  }
  return value;
}

}  // namespace strand::story
