// The ad-click job of the story at 10:15:00 UTC, given by hand.
#pragma once

#include "base/text.h"
#include "engine/running_job.h"

namespace strand::engine::reports {

inline WallTime at(const char* time) { return {*parse_utc("2026-02-08T" + std::string(time) + "Z")}; }
inline EventTime event_at(const char* time) { return {*parse_utc("2026-02-08T" + std::string(time) + "Z")}; }

/// A plan of clicks -> accepted (filter) -> distinct_clicks -> per_minute -> ad_metrics.fast, and a view of
/// it that a test may change before it asks.
class StoryView {
 public:
  StoryView() {
    plan::Scan scan;
    scan.table.name = "clicks";
    scan.table.options = {{"connector", "filesystem"}, {"path", "clicks"}, {"format", "json"}};
    scan.watermark = plan::WatermarkSpec{0, nullptr, Duration{5'001}, Duration{30'000}};
    plan.job = "ad-clicks";
    const auto clicks = add("clicks/Scan", "clicks", scan, nullptr);
    const auto accepted = add("accepted/Filter", "accepted", plan::Filter{}, clicks);
    const auto distinct = add("distinct_clicks/Deduplicate", "distinct_clicks",
                              plan::Deduplicate{{0}, plan::Retention{0, Duration{7'200'000}}}, accepted);
    plan::WindowAggregate window;
    window.size = Duration{60'000};
    const auto minutes = add("per_minute/WindowAggregate", "per_minute", window, distinct);
    plan::SinkWrite write;
    write.table.name = "ad_metrics";
    write.table.options = {{"connector", "sqlite"}, {"path", "ad_metrics.db"}};
    write.table.primary_key = {"entity", "bucket"};
    write.writer = "fast";
    write.columns = {"entity", "bucket", "fast_valid"};
    plan.sinks.push_back(add("ad_metrics.fast", "ad_metrics.fast", write, minutes));

    view.job = "ad-clicks";
    view.started = at("10:12:30");
    view.attempt.emplace();
    view.attempt->checkpoints.last_complete = Epoch{41};
    view.attempt->checkpoints.last_complete_at = at("10:15:00");
    view.attempt->restore.generation = Generation{7};
    view.attempt->restore.attempt = Attempt{1};
    view.attempt->tasks.emplace_back("clicks[0]", source_task());
    view.attempt->tasks.emplace_back("ad_metrics.fast[0]", sink_task());
  }

  runtime::TaskView& task(size_t i) { return view.attempt->tasks[i].second; }
  runtime::ShardView& shard(size_t i) { return task(0).shards[i]; }
  obs::Ledger& ledger(size_t i) { return task(0).operators[i].ledger; }
  /// The scan's table, to be told otherwise.
  plan::Scan& scan() { return std::get<plan::Scan>(first_->detail); }

  plan::Plan plan;
  JobView view;
  WallTime now = at("10:15:00");

  static obs::Ledger booked(int64_t in, int64_t counted, int64_t late = 0, int64_t duplicate = 0,
                            int64_t held = 0, int64_t filtered = 0, int64_t bad = 0) {
    obs::Ledger ledger;
    ledger.add(obs::Entry::kIn, in);
    ledger.add(obs::Entry::kCounted, counted);
    ledger.add(obs::Entry::kLate, late);
    ledger.add(obs::Entry::kDuplicate, duplicate);
    ledger.add(obs::Entry::kFiltered, filtered);
    ledger.add(obs::Entry::kBad, bad);
    ledger.set_in_state(held);
    return ledger;
  }

 private:
  template <class Detail>
  plan::NodePtr add(const std::string& id, const std::string& label, Detail detail,
                    const plan::NodePtr& input) {
    auto node = std::make_shared<plan::Node>();
    node->id = id;
    node->label = label;
    node->detail = std::move(detail);
    if (input) node->inputs.push_back({.node = input});
    if (!first_) first_ = node;
    return node;
  }

  static runtime::ShardView shard_view(const char* name, const char* watermark, const char* newest,
                                       const char* read, int64_t records) {
    runtime::ShardView shard;
    shard.shard = name;
    shard.watermark = event_at(watermark);
    shard.newest = event_at(newest);
    shard.last_read = at(read);
    shard.records = records;
    return shard;
  }

  static runtime::TaskView source_task() {
    runtime::TaskView task;
    task.shards = {shard_view("clicks/S1", "10:14:52.999", "10:14:58", "10:14:58.3", 6),
                   shard_view("clicks/S2", "10:14:34.999", "10:14:40", "10:14:40.3", 4),
                   shard_view("clicks/S3", "10:14:14.999", "10:14:20", "10:14:20.3", 3)};
    task.shards[1].idle_from = at("10:15:10.8");
    task.shards[2].idle = true;
    task.shards[2].idle_since = at("10:14:50.8");
    const EventTime watermark = event_at("10:14:34.999");
    task.operators = {
        {"clicks/Scan", "clicks", booked(13, 13), watermark, watermark, 0, 0},
        {"accepted/Filter", "accepted", booked(13, 13), watermark, watermark, 0, 0},
        {"distinct_clicks/Deduplicate", "distinct_clicks", booked(13, 12, 0, 1), watermark, watermark, 12,
         576},
        {"per_minute/WindowAggregate", "per_minute", booked(12, 6, 0, 0, 6), watermark, watermark, 2, 128}};
    return task;
  }

  static runtime::TaskView sink_task() {
    runtime::TaskView task;
    flow::SinkCounts counts;
    counts.rows_in = 1;
    counts.written = 1;
    task.sink = counts;
    task.sink_id = "ad_metrics.fast";
    return task;
  }

  std::shared_ptr<plan::Node> first_;
};

}  // namespace strand::engine::reports
