#include "runtime/chain.h"

#include <gmock/gmock.h>

#include "runtime/pipeline_task.h"
#include "state/spill/memory_spill.h"

namespace strand::runtime {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class TakesWork final : public env::Executor {
 public:
  void submit(uint64_t, std::function<void()>) override { ++works; }
  void drain() override {}
  int works = 0;
};

/// Writes down what it is called with: `left 1`, `right 1`, `time 5`, `snapshot`, `finish`.
class Diary final : public flow::Operator {
 public:
  explicit Diary(std::vector<std::string>& lines) : lines_(lines) {}
  Status open(flow::OperatorContext& context) override {
    context_ = &context;
    return Status();
  }
  Status process(int input, const flow::Batch& batch, flow::Emitter&) override {
    context_->ledger->add(obs::Entry::kIn, batch.rows());
    context_->ledger->add(obs::Entry::kCounted, batch.rows());
    lines_.push_back((input == 0 ? "left " : "right ") + std::to_string(batch.rows()));
    return Status();
  }
  Status advance(flow::Emitter&) override {
    const EventTime time = context_->watermark;
    lines_.push_back("time " + (time == EventTime::max() ? "max" : std::to_string(time.millis)));
    return Status();
  }
  Status snapshot(Epoch, state::SnapshotBuilder&) override {
    lines_.emplace_back("snapshot");
    return Status();
  }
  Status finish(flow::Emitter&) override {
    lines_.emplace_back("finish");
    return Status();
  }

 private:
  std::vector<std::string>& lines_;
  flow::OperatorContext* context_ = nullptr;
};

flow::Batch rows(int64_t count) {
  const auto type = columnar::make_type(columnar::TypeKind::kBigInt);
  columnar::BatchBuilder builder(
      std::make_shared<columnar::Schema>(std::vector<columnar::Field>{{"n", type}}));
  for (int64_t i = 0; i < count; ++i) {
    builder.column(0).append<int64_t>(i);
    builder.end_row();
  }
  return builder.finish();
}

/// A task whose operator has two channels on the left and one on the right.
class TwoInputTask : public ::testing::Test {
 protected:
  TwoInputTask() {
    context_.env.executor = &executor_;
    context_.master = &master_;
    context_.memory = &memory_;
    context_.memory_watch = &watch_;
    auto chain = std::make_unique<Chain>();
    Slot slot;
    slot.op = std::make_unique<Diary>(lines_);
    slot.time = std::make_unique<time::OperatorTime>(std::vector<size_t>{2, 1});
    chain->slots.push_back(std::move(slot));
    EXPECT_TRUE(chain->open({}).ok());
    chain_ = chain.get();
    const std::vector<std::vector<Target>> entries = {
        {{.input = 0, .channel = 0}}, {{.input = 0, .channel = 1}}, {{.input = 1, .channel = 0}}};
    task_ = std::make_unique<PipelineTask>(0, "join", nullptr, std::move(chain),
                                           std::vector<flow::Channel*>{&left_[0], &left_[1], &right_},
                                           entries, KeyGroupRange{0, 127}, context_);
  }
  /// What the operator was called with since the last time, once all is read that may be.
  std::vector<std::string> diary() {
    for (int i = 0; i < 20; ++i) EXPECT_TRUE(task_->step(WallTime{0}, Phase::kCompletions).ok());
    return std::exchange(lines_, {});
  }

  TakesWork executor_;
  Mailbox<MasterMessage> master_;
  obs::MemoryAccount memory_{1'000'000};
  MemoryWatch watch_{memory_};
  AttemptContext context_;
  std::vector<std::string> lines_;
  flow::Channel left_[2] = {flow::Channel(nullptr), flow::Channel(nullptr)};
  flow::Channel right_{nullptr};
  Chain* chain_ = nullptr;
  std::unique_ptr<PipelineTask> task_;
};

TEST_F(TwoInputTask, RowsReachTheInputThatTheirChannelLeadsTo) {
  left_[1].push(flow::Rows{rows(2)});
  EXPECT_THAT(diary(), ElementsAre("left 2"));
  right_.push(flow::Rows{rows(3)});
  EXPECT_THAT(diary(), ElementsAre("right 3"));
  EXPECT_EQ(chain_->slots[0].ledger[obs::Entry::kIn], 5);
  EXPECT_EQ(chain_->slots[0].ledger[obs::Entry::kInRight], 3);
}

TEST_F(TwoInputTask, TimeIsTheLowestOfAllChannelsOfBothInputs) {
  left_[0].push(flow::Watermark{{7}});
  right_.push(flow::Watermark{{5}});
  EXPECT_THAT(diary(), IsEmpty());
  left_[1].push(flow::Watermark{{9}});
  EXPECT_THAT(diary(), ElementsAre("time 5"));
  right_.push(flow::Watermark{{8}});
  EXPECT_THAT(diary(), ElementsAre("time 7"));
}

TEST_F(TwoInputTask, ABarrierWaitsForTheChannelsOfBothInputs) {
  const flow::Barrier barrier{Epoch{1}, flow::BarrierKind::kCheckpoint};
  left_[0].push(barrier);
  left_[0].push(flow::Rows{rows(1)});
  left_[1].push(barrier);
  EXPECT_THAT(diary(), IsEmpty()) << "rows behind the barrier wait";
  right_.push(flow::Rows{rows(2)});
  EXPECT_THAT(diary(), ElementsAre("right 2"));
  right_.push(barrier);
  EXPECT_THAT(diary(), ElementsAre("snapshot", "left 1"));
  EXPECT_EQ(executor_.works, 1);
}

TEST_F(TwoInputTask, EndsWithTheLastOfItsInputs) {
  left_[0].push(flow::Watermark{{5}});
  left_[1].push(flow::Watermark{{6}});
  right_.push(flow::Watermark{{4}});
  EXPECT_THAT(diary(), ElementsAre("time 4"));
  right_.push(flow::EndOfInput{});
  EXPECT_THAT(diary(), ElementsAre("time 5")) << "the end of one side is no end of time";
  left_[0].push(flow::Rows{rows(1)});
  left_[0].push(flow::EndOfInput{});
  EXPECT_THAT(diary(), ElementsAre("left 1", "time 6"));
  left_[1].push(flow::EndOfInput{});
  EXPECT_THAT(diary(), ElementsAre("time max", "finish"));
}

// A self-join: one output feeds both inputs.
TEST_F(TwoInputTask, OneOutputMayFeedBothInputs) {
  Slot both;
  both.op = std::make_unique<Diary>(lines_);
  both.time = std::make_unique<time::OperatorTime>(std::vector<size_t>{1, 1});
  Chain chain;
  chain.slots.push_back(std::move(both));
  ASSERT_TRUE(chain.open({}).ok());
  Outputs source;
  source[0] = {{.input = 0}, {.input = 1}};
  ASSERT_TRUE(chain.rows_to_all(source[0], rows(1), false).ok());
  ASSERT_TRUE(chain.watermark_to_all(source, {3}).ok());
  ASSERT_TRUE(chain.end_to_all(source).ok());
  EXPECT_THAT(lines_, ElementsAre("left 1", "right 1", "time 3", "time max", "finish"));
}

/// Passes rows on; of a batch of more than one row it cannot read what it has of it.
class Forgets final : public flow::Operator {
 public:
  Status open(flow::OperatorContext& context) override {
    context_ = &context;
    return Status();
  }
  Status process(int, const flow::Batch& batch, flow::Emitter& out) override {
    if (batch.rows() > 1)
      context_->spill->lose(Status(ErrorCode::kIo, "/local/1.log: the disk does not answer"));
    return out.emit(Port::kMain, batch);
  }

 private:
  flow::OperatorContext* context_ = nullptr;
};

TEST(LostChain, NoRowGoesOnBehindALostReadAndNoBarrierPasses) {
  const auto space = state::make_memory_space(0);
  std::vector<std::string> lines;
  Chain chain;
  chain.slots.resize(2);
  chain.slots[0].op = std::make_unique<Forgets>();
  chain.slots[1].op = std::make_unique<Diary>(lines);
  for (Slot& slot : chain.slots) {
    slot.time = std::make_unique<time::OperatorTime>(std::vector<size_t>{1});
    slot.context.spill = space.get();
  }
  chain.slots[0].label = "join";
  chain.slots[0].outputs[0] = {{.index = 1}};
  ASSERT_TRUE(chain.open({}).ok());
  const Target entry{};
  ASSERT_TRUE(chain.rows(entry, rows(1), false).ok());
  EXPECT_THAT(std::exchange(lines, {}), ElementsAre("left 1"));
  const std::string told = chain.rows(entry, rows(2), false).to_string();
  EXPECT_EQ(told, "STRAND-5000  join: /local/1.log: the disk does not answer");
  EXPECT_FALSE(chain.watermark(entry, {3}).ok());
  state::SnapshotBuilder out(Epoch{1}, {0, 127});
  checkpoint::TaskParts parts;
  EXPECT_FALSE(chain.barrier({Epoch{1}, flow::BarrierKind::kCheckpoint}, out, parts).ok());
  EXPECT_THAT(lines, IsEmpty()) << "nothing goes on";
}

}  // namespace
}  // namespace strand::runtime
