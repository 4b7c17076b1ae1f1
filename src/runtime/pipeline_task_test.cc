#include "runtime/pipeline_task.h"

#include <gmock/gmock.h>

namespace strand::runtime {
namespace {

/// Takes works and never runs them.
class IdleExecutor final : public env::Executor {
 public:
  void submit(uint64_t, std::function<void()>) override {}
  void drain() override {}
};

class PipelineTaskTest : public ::testing::Test {
 protected:
  PipelineTaskTest() {
    context_.env.executor = &executor_;
    context_.master = &master_;
    context_.memory = &memory_;
    context_.memory_watch = &watch_;
  }
  static Step step(PipelineTask& task, WallTime now) {
    auto step = task.step(now, Phase::kCompletions);
    EXPECT_TRUE(step.ok());
    return step.ok() ? *std::move(step) : Step{};
  }

  IdleExecutor executor_;
  Mailbox<MasterMessage> master_;
  obs::MemoryAccount memory_{1'000'000};
  MemoryWatch watch_{memory_};
  AttemptContext context_;
};

// ---- the barrier of a stop

class StoppingTask : public PipelineTaskTest {
 protected:
  Step step() { return PipelineTaskTest::step(task_, WallTime{0}); }
  void inject_stop(Epoch epoch) { task_.mailbox().post(InjectBarrier{{epoch, flow::BarrierKind::kStop}}); }

  flow::Channel input_{nullptr};
  PipelineTask task_{0, "t", nullptr, std::make_unique<Chain>(), {&input_}, {{}}, {0, 127}, context_};
};

TEST_F(StoppingTask, ReadsNothingBehindTheBarrier) {
  inject_stop(Epoch{1});
  step();
  input_.push(flow::Watermark{EventTime{1}});
  step();
  EXPECT_NE(input_.front(), nullptr);
}

// It was held back by a reader: the likeliest reason why the epoch timed out.
TEST_F(StoppingTask, AStopThatWasGivenUpBeforeItsBarrierPassedStopsNothing) {
  inject_stop(Epoch{1});
  task_.mailbox().post(CheckpointAborted{Epoch{1}});
  step();
  input_.push(flow::Watermark{EventTime{1}});
  step();
  EXPECT_EQ(input_.front(), nullptr);
}

TEST_F(StoppingTask, ANoticeOfAnEarlierEpochDoesNotEndAStop) {
  inject_stop(Epoch{2});
  step();
  task_.mailbox().post(CheckpointAborted{Epoch{1}});
  step();
  input_.push(flow::Watermark{EventTime{1}});
  step();
  EXPECT_NE(input_.front(), nullptr);
  task_.mailbox().post(CheckpointComplete{Epoch{2}});
  step();
  EXPECT_EQ(step().state, Step::State::kFinished);
}

// ---- uploads

/// Says which of its snapshots it was told of as written.
class Incremental final : public flow::Operator {
 public:
  explicit Incremental(std::vector<Epoch>& written) : written_(written) {}
  Status open(flow::OperatorContext&) override { return Status(); }
  Status process(int, const flow::Batch&, flow::Emitter&) override { return Status(); }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>&) override {
    written_.push_back(epoch);
  }

 private:
  std::vector<Epoch>& written_;
};

class UploadingTask : public PipelineTaskTest {
 protected:
  UploadingTask() {
    auto chain = std::make_unique<Chain>();
    chain->slots.emplace_back();
    chain->slots[0].op = std::make_unique<Incremental>(written_);
    task_ = std::make_unique<PipelineTask>(
        0, "t", nullptr, std::move(chain), std::vector<flow::Channel*>{&input_},
        std::vector<std::vector<Target>>{{}}, KeyGroupRange{0, 127}, context_);
  }
  void barrier(int64_t epoch) {
    input_.push(flow::Barrier{Epoch{epoch}, flow::BarrierKind::kCheckpoint});
    step();
  }
  void uploaded(int64_t epoch) {
    task_->mailbox().post(SnapshotWritten{Epoch{epoch}, Status(), {}});
    step();
  }
  void aborted(int64_t epoch) {
    task_->mailbox().post(CheckpointAborted{Epoch{epoch}});
    step();
  }
  void step() { PipelineTaskTest::step(*task_, WallTime{0}); }
  size_t acknowledged() { return master_.take().size(); }

  std::vector<Epoch> written_;
  flow::Channel input_{nullptr};
  std::unique_ptr<PipelineTask> task_;
};

TEST_F(UploadingTask, AnUploadIsToldAndAcknowledged) {
  barrier(1);
  uploaded(1);
  EXPECT_THAT(written_, ::testing::ElementsAre(Epoch{1}));
  EXPECT_EQ(acknowledged(), 1u);
}

// No manifest will name its files: the next checkpoint removes them.
TEST_F(UploadingTask, AnUploadOfACheckpointThatWasGivenUpCountsForNothing) {
  barrier(1);
  aborted(1);
  uploaded(1);
  EXPECT_THAT(written_, ::testing::IsEmpty());
  EXPECT_EQ(acknowledged(), 0u);
}

TEST_F(UploadingTask, ABarrierThatOvertakesTheNoticeGivesUpWhatIsBeforeItAndTheNoticeNothingBehind) {
  barrier(1);
  barrier(2);
  uploaded(1);
  aborted(1);
  uploaded(2);
  EXPECT_THAT(written_, ::testing::ElementsAre(Epoch{2}));
  EXPECT_EQ(acknowledged(), 1u);
}

// ---- the clock of a source

/// Has a shard and nothing to read.
class SilentReader final : public flow::SourceReader {
 public:
  explicit SilentReader(int& polls) : polls_(polls) {}
  Status assign(const ShardState& shard) override {
    shards_.push_back(shard);
    return Status();
  }
  Result<flow::Polled> poll(WallTime now) override {
    ++polls_;
    flow::Polled nothing;
    nothing.until = now + Duration{1'000};
    return nothing;
  }
  size_t shards() const override { return shards_.size(); }
  ShardState state(size_t shard) const override { return shards_[shard]; }
  bool ended(size_t) const override { return false; }

 private:
  int& polls_;
  std::vector<ShardState> shards_;
};

/// A source with an idle timeout of a second and a reader behind it, stepped every 100 ms.
class SourceTask : public PipelineTaskTest {
 protected:
  SourceTask() {
    SourceOptions options;
    options.table = "clicks";
    options.output = std::make_shared<columnar::Schema>(std::vector<columnar::Field>{});
    options.scan.watermark = plan::WatermarkSpec{};
    options.scan.watermark->trail = Duration{0};
    options.scan.watermark->idle_timeout = Duration{1'000};
    auto head = SourceHead::make(options, std::make_unique<SilentReader>(polls_), context_);
    EXPECT_TRUE(head.ok());
    auto chain = std::make_unique<Chain>();
    chain->gates.push_back(
        std::make_unique<Gate>("slow", std::vector<flow::Channel*>{&output_}, std::vector<size_t>{}, 128));
    task_ = std::make_unique<PipelineTask>(0, "clicks", *std::move(head), std::move(chain),
                                           std::vector<flow::Channel*>{}, std::vector<std::vector<Target>>{},
                                           KeyGroupRange{0, 127}, context_);
    task_->mailbox().post(AssignShard{{"S1", "", 0}});
  }
  void step_at(WallTime now) {
    now_ = now;
    for (int i = 0; i < 4; ++i) PipelineTaskTest::step(*task_, now_);
  }
  void pass(Duration time) {
    for (const WallTime until = now_ + time; now_ < until;) step_at(now_ + Duration{100});
  }
  bool idle() {
    task_->publish();
    return task_->view().shards.at(0).idle;
  }
  void fill_output() {
    while (!output_.full()) output_.push(flow::Watermark{EventTime{0}});
  }
  void empty_output() {
    while (output_.front() != nullptr || output_.full()) output_.pop();
  }

  int polls_ = 0;
  flow::Channel output_{nullptr};
  std::unique_ptr<PipelineTask> task_;
  WallTime now_{3'600'000'000};
};

TEST_F(SourceTask, AShardWithNothingToReadGrowsIdle) {
  pass(Duration{500});
  EXPECT_FALSE(idle());
  pass(Duration{2'000});
  EXPECT_TRUE(idle());
}

TEST_F(SourceTask, AShardIsNotIdleBecauseTheReaderOfItsTaskDoesNotKeepUp) {
  pass(Duration{500});
  fill_output();
  pass(Duration{60'000});
  empty_output();
  pass(Duration{300});
  EXPECT_FALSE(idle()) << "nobody could read it";
  pass(Duration{2'000});
  EXPECT_TRUE(idle());
}

TEST_F(SourceTask, AShardIsNotIdleBecauseMemoryIsShort) {
  pass(Duration{500});
  memory_.charge(950'000);
  pass(Duration{60'000});
  EXPECT_FALSE(idle());
  memory_.charge(-950'000);
  pass(Duration{300});
  EXPECT_FALSE(idle());
  pass(Duration{2'000});
  EXPECT_TRUE(idle());
}

TEST_F(SourceTask, AShardIsNotIdleBecauseAStopWasGivenUpThatTookLong) {
  pass(Duration{500});
  task_->mailbox().post(InjectBarrier{{Epoch{1}, flow::BarrierKind::kStop}});
  pass(Duration{60'000});
  task_->mailbox().post(CheckpointAborted{Epoch{1}});
  pass(Duration{300});
  EXPECT_FALSE(idle()) << "nobody read it";
  pass(Duration{2'000});
  EXPECT_TRUE(idle());
}

TEST_F(SourceTask, AShardThatComesWhileTheTaskIsHeldBackIsNotIdleEither) {
  fill_output();
  pass(Duration{500});
  task_->mailbox().post(AssignShard{{"S2", "", 0}});
  pass(Duration{60'000});
  empty_output();
  pass(Duration{300});
  EXPECT_FALSE(idle());
  EXPECT_FALSE(task_->view().shards.at(1).idle);
}

TEST_F(SourceTask, AShardIsNotIdleBecauseTheTaskWasNotSteppedOrTheClockWasSetAhead) {
  pass(Duration{500});
  step_at(now_ + Duration{60'000});
  EXPECT_FALSE(idle());
}

TEST_F(SourceTask, AShardThatIsFoundWhenADrainHasEndedTimeIsNotRead) {
  pass(Duration{500});
  task_->mailbox().post(InjectBarrier{{Epoch{1}, flow::BarrierKind::kDrain}});
  pass(Duration{100});
  task_->mailbox().post(AssignShard{{"S2", "", 0}});
  pass(Duration{100});
  task_->publish();
  EXPECT_EQ(task_->view().shards.size(), 1U);
}

TEST_F(SourceTask, AClockThatIsSetBackMakesNoWaitLonger) {
  pass(Duration{500});
  const int before = polls_;
  step_at(WallTime{now_.millis - 3'600'000});
  EXPECT_GT(polls_, before);
  EXPECT_FALSE(idle());
  pass(Duration{2'000});
  EXPECT_TRUE(idle()) << "ticks go on";
}

// ---- a task between two others

flow::Rows one_row() {
  const auto schema = std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"n", columnar::make_type(columnar::TypeKind::kBigInt, false)}});
  columnar::BatchBuilder builder(schema);
  builder.column(0).append(int64_t{1});
  builder.end_row();
  return {builder.finish(), false};
}

/// Hands everything on, and has a row of its own for one instant of the wall clock.
class Forward final : public flow::Operator {
 public:
  explicit Forward(WallTime timer = WallTime::never()) : timer_(timer) {}
  Status open(flow::OperatorContext&) override { return Status(); }
  Status process(int, const flow::Batch& batch, flow::Emitter& out) override {
    return out.emit(Port::kMain, batch);
  }
  Status on_wakeup(flow::Emitter& out) override {
    timer_ = WallTime::never();
    return out.emit(Port::kMain, one_row().batch);
  }
  WallTime next_wakeup() const override { return timer_; }

 private:
  WallTime timer_;
};

class MiddleTask : public PipelineTaskTest {
 protected:
  explicit MiddleTask(WallTime timer = WallTime::never()) {
    context_.memory = &roomy_;
    auto chain = std::make_unique<Chain>();
    chain->slots.emplace_back();
    chain->slots[0].op = std::make_unique<Forward>(timer);
    chain->slots[0].context.ledger = &chain->slots[0].ledger;
    chain->slots[0].outputs[0].push_back({.gate = true, .index = 0});
    chain->gates.push_back(
        std::make_unique<Gate>("reader", std::vector<flow::Channel*>{&output_}, std::vector<size_t>{}, 128));
    task_ = std::make_unique<PipelineTask>(
        0, "t", nullptr, std::move(chain), std::vector<flow::Channel*>{&input_},
        std::vector<std::vector<Target>>{{Target{false, 0, 0, 0}}}, KeyGroupRange{0, 127}, context_);
  }
  Step step() { return PipelineTaskTest::step(*task_, WallTime{0}); }

  obs::MemoryAccount roomy_;
  flow::Channel input_{nullptr};
  flow::Channel output_{nullptr};
  std::unique_ptr<PipelineTask> task_;
};

class TaskWithATimer : public MiddleTask {
 protected:
  TaskWithATimer() : MiddleTask(WallTime{-1}) {}
};

// F1: sinks flush before any new output, and rows in flight are older than what a timer makes of restored
// state.
TEST_F(TaskWithATimer, FiresNoTimerBeforeItHasToldWhatItHolds) {
  EXPECT_EQ(step().until, WallTime::never());
  ASSERT_EQ(output_.front(), nullptr);
  input_.push(flow::HeldEnd{});
  while (step().state == Step::State::kProgressed) {
  }
  ASSERT_NE(output_.front(), nullptr);
  EXPECT_TRUE(std::holds_alternative<flow::HeldEnd>(*output_.front()));
  output_.pop();
  ASSERT_NE(output_.front(), nullptr);
  EXPECT_TRUE(std::holds_alternative<flow::Rows>(*output_.front()));
}

// ---- barriers that overtake

class OvertakingTask : public MiddleTask {
 protected:
  OvertakingTask() {
    task_->let_overtake({"n BIGINT"});
    input_.push(flow::HeldEnd{});
    step();
  }
};

TEST_F(OvertakingTask, ABarrierPassesWhileTheReaderIsSlow) {
  for (int i = 0; i < 200; ++i) {
    input_.push(one_row());
    step();
  }
  ASSERT_EQ(step().state, Step::State::kBlocked);
  input_.push(flow::Barrier{Epoch{1}, flow::BarrierKind::kSavepoint});
  step();
  EXPECT_EQ(output_.announced(), std::nullopt) << "one that is aligned waits";
  input_.push(flow::Barrier{Epoch{2}, flow::BarrierKind::kCheckpoint, WallTime{0}});
  step();
  ASSERT_NE(output_.announced(), std::nullopt);
  EXPECT_EQ(output_.announced()->epoch, Epoch{2});
  EXPECT_FALSE(output_.overtaken().empty());
}

// They were in front of what the restored barrier let through.
TEST_F(OvertakingTask, RowsThatWereInFlightComeBeforeAnythingElse) {
  input_.push(flow::EndOfInput{});
  task_->restore_in_flight({false, 0, 0, 0}, one_row().batch);
  while (output_.front() != nullptr) output_.pop();
  step();
  ASSERT_NE(output_.front(), nullptr);
  EXPECT_TRUE(std::holds_alternative<flow::Rows>(*output_.front()));
}

}  // namespace
}  // namespace strand::runtime
