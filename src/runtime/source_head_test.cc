#include "runtime/source_head.h"

#include <gmock/gmock.h>

namespace strand::runtime {
namespace {

const columnar::SchemaPtr kTimes = std::make_shared<columnar::Schema>(
    std::vector<columnar::Field>{{"ts", columnar::timestamp_type(3, true)}});

/// One shard, one batch.
class OneBatch final : public flow::SourceReader {
 public:
  explicit OneBatch(std::vector<int64_t> times) : times_(std::move(times)) {}
  Status assign(const ShardState& shard) override {
    shard_ = shard;
    return Status();
  }
  Result<flow::Polled> poll(WallTime) override {
    columnar::BatchBuilder rows(kTimes);
    for (const int64_t time : times_) {
      rows.column(0).append<int64_t>(time);
      rows.end_row();
    }
    flow::Polled polled;
    polled.kind = flow::Polled::Kind::kRows;
    polled.records = static_cast<int64_t>(times_.size());
    polled.batch = rows.finish();
    return polled;
  }
  size_t shards() const override { return 1; }
  ShardState state(size_t) const override { return shard_; }
  bool ended(size_t) const override { return false; }

 private:
  std::vector<int64_t> times_;
  ShardState shard_;
};

/// What a source says of one batch, a letter and a number each: R rows, W watermark.
std::string says(Duration tick_interval, const std::string& strategy) {
  SourceOptions options;
  options.table = "clicks";
  options.output = kTimes;
  options.tick_interval = tick_interval;
  options.scan.project.push_back(expr::column(0, (*kTimes)[0].type));
  options.scan.watermark = plan::WatermarkSpec{};
  options.scan.watermark->trail = Duration{5};
  options.scan.watermark->expression = expr::column(0, (*kTimes)[0].type);
  options.scan.table.options.emplace("scan.watermark.emit.strategy", strategy);
  const AttemptContext context;
  auto head = SourceHead::make(options, std::make_unique<OneBatch>(std::vector<int64_t>{100, 300, 200, 400}),
                               context);
  if (!head.ok()) return head.status().message();
  flow::Channel out{nullptr};
  Chain chain;
  chain.gates.push_back(
      std::make_unique<Gate>("reader", std::vector<flow::Channel*>{&out}, std::vector<size_t>{}, 128));
  (*head)->outputs[0] = {{true, 0}};
  (*head)->start(WallTime{0});
  std::string said;
  const Status status = (*head)->assign({"S1", "", 0}, chain);
  if (!status.ok() || !(*head)->poll(WallTime{0}, chain).ok()) return "failed";
  for (flow::Element* element = out.front(); element != nullptr; out.pop(), element = out.front()) {
    if (const auto* rows = std::get_if<flow::Rows>(element))
      said += "R" + std::to_string(rows->batch.rows()) + " ";
    if (const auto* mark = std::get_if<flow::Watermark>(element))
      said += "W" + std::to_string(mark->time.millis) + " ";
  }
  return said;
}

TEST(SourceHeadTest, TellsEventTimeAtTicks) { EXPECT_EQ(says(Duration{200}, "on-periodic"), "R4 "); }

TEST(SourceHeadTest, WithoutAnIntervalTellsEventTimeBehindEachRow) {
  EXPECT_EQ(says(Duration{0}, "on-periodic"), "R1 W95 R1 W295 R1 R1 W395 ");
}

TEST(SourceHeadTest, OnEventTellsTheWatermarkOfEachRow) {
  EXPECT_EQ(says(Duration{200}, "on-event"), "R1 W100 R1 W300 R1 R1 W400 ");
}

}  // namespace
}  // namespace strand::runtime
