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

// ---- alignment

/// Shards whose next row has the time that the test says, read in turn.
class Shards final : public flow::SourceReader {
 public:
  Status assign(const ShardState& shard) override {
    shards_.push_back(shard);
    paused_.push_back(false);
    return Status();
  }
  Result<flow::Polled> poll(WallTime) override {
    flow::Polled polled;
    for (size_t i = 0; i < shards_.size(); ++i) {
      if (paused_[i] || times[i].empty()) continue;
      columnar::BatchBuilder row(kTimes);
      row.column(0).append<int64_t>(times[i].front());
      row.end_row();
      times[i].erase(times[i].begin());
      polled.kind = flow::Polled::Kind::kRows;
      polled.shard = i;
      polled.records = 1;
      polled.batch = row.finish();
      return polled;
    }
    polled.until = WallTime{0};
    return polled;
  }
  size_t shards() const override { return shards_.size(); }
  ShardState state(size_t shard) const override { return shards_[shard]; }
  bool ended(size_t) const override { return false; }
  void pause(size_t shard, bool paused) override { paused_[shard] = paused; }

  std::map<size_t, std::vector<int64_t>> times;

 private:
  std::vector<ShardState> shards_;
  std::vector<bool> paused_;
};

/// Sources of one group, at most 100 ms of event time apart. Watermarks are the newest times.
class AlignedSources : public ::testing::Test {
 protected:
  struct Source {
    std::unique_ptr<SourceHead> head;
    Shards* shards;
  };
  AlignedSources() { context_.groups = &groups_; }
  Source source(std::optional<Duration> idle_timeout = {}) {
    SourceOptions options;
    options.table = "t";
    options.output = kTimes;
    options.scan.project.push_back(expr::column(0, (*kTimes)[0].type));
    options.scan.watermark = plan::WatermarkSpec{};
    options.scan.watermark->trail = Duration{0};
    options.scan.watermark->idle_timeout = idle_timeout;
    options.scan.table.options = {{"scan.watermark.alignment.group", "g"},
                                  {"scan.watermark.alignment.max-drift", "100 ms"},
                                  {"scan.watermark.alignment.update-interval", "200 ms"}};
    auto reader = std::make_unique<Shards>();
    Shards* shards = reader.get();
    auto head = SourceHead::make(options, std::move(reader), context_);
    EXPECT_TRUE(head.ok());
    for (const char* name : {"S1", "S2"}) EXPECT_TRUE((*head)->assign({name, "", 0}, chain_).ok());
    (*head)->start(now_);
    return {*std::move(head), shards};
  }
  /// The next tick: everything there is to read has been read before.
  void tick(const std::vector<Source*>& sources) {
    now_ = now_ + Duration{200};
    for (Source* source : sources) {
      source->head->pass_time(now_, false);
      while (*source->head->poll(now_, chain_)) {
      }
    }
    for (int twice = 0; twice < 2; ++twice) {  // all have told before anybody asks
      for (Source* source : sources)
        EXPECT_TRUE(source->head->tick(now_ + Duration{twice * 200}, chain_).ok());
    }
    now_ = now_ + Duration{200};
  }
  static std::vector<int64_t> left(const Source& source, size_t shard) { return source.shards->times[shard]; }

  WallTime now_{0};
  WatermarkGroups groups_;
  AttemptContext context_;
  Chain chain_;
};

TEST_F(AlignedSources, AShardThatIsTooFarAheadIsNotReadUntilTheSlowestHasCome) {
  Source fast = source();
  Source slow = source();
  slow.shards->times = {{0, {1'000}}, {1, {1'050}}};
  fast.shards->times = {{0, {1'100}}, {1, {1'101}}};
  tick({&fast, &slow});
  fast.shards->times = {{0, {1'110}}, {1, {1'120}}};
  tick({&fast, &slow});
  EXPECT_TRUE(left(fast, 0).empty()) << "exactly as far as is allowed";
  EXPECT_EQ(left(fast, 1), std::vector<int64_t>{1'120}) << "one millisecond more";
  slow.shards->times = {{0, {1'060}}, {1, {1'070}}};
  tick({&fast, &slow});
  tick({&fast, &slow});
  EXPECT_TRUE(left(fast, 1).empty());
}

TEST_F(AlignedSources, OneThatHasToldNothingHoldsTheOthersAndAnIdleOneHoldsNobody) {
  Source fast = source();
  Source silent = source(Duration{10'000});
  fast.shards->times = {{0, {1'000}}, {1, {1'000}}};
  tick({&fast, &silent});
  fast.shards->times = {{0, {5'000}}, {1, {5'000}}};
  tick({&fast, &silent});
  EXPECT_EQ(left(fast, 0), std::vector<int64_t>{5'000});
  for (int i = 0; i < 30; ++i) tick({&fast, &silent});
  EXPECT_TRUE(left(fast, 0).empty());
}

TEST_F(AlignedSources, AShardThatIsHeldBackDoesNotGrowIdle) {
  Source fast = source(Duration{5'000});
  Source slow = source();
  fast.shards->times = {{0, {1'000}}, {1, {1'000}}};
  tick({&fast, &slow});
  for (int i = 0; i < 100; ++i) tick({&fast, &slow});
  TaskView view;
  fast.head->view(view, now_);
  EXPECT_FALSE(view.shards[0].idle);
  EXPECT_FALSE(view.shards[1].idle);
}

}  // namespace
}  // namespace strand::runtime
