#include "runtime/sink_task.h"

#include <gmock/gmock.h>

#include "columnar/print.h"

namespace strand::runtime {
namespace {

/// Acknowledges when it is told to.
class SlowSink final : public flow::Sink {
 public:
  struct Seen {
    bool acknowledged = false;
    bool closed = false;
    bool destroyed = false;
    std::vector<std::string> calls;
  };
  explicit SlowSink(Seen& seen) : seen_(seen) {}
  ~SlowSink() override { seen_.destroyed = true; }
  Status start(const flow::SinkStart&) override { return Status(); }
  Status held(const flow::Batch&) override { return Status(); }
  Status held_end() override {
    seen_.calls.emplace_back("held_end");
    return Status();
  }
  Status write(const flow::Batch& rows, flow::WriteTag tag) override {
    seen_.calls.push_back("write " + columnar::value_to_string(rows.column(0), 0) + " after barrier " +
                          std::to_string(tag.epoch.value));
    return Status();
  }
  Result<bool> busy() override { return false; }
  Status before_barrier() override { return Status(); }
  Result<bool> drained() override { return seen_.acknowledged; }
  Status snapshot(Epoch, state::SnapshotBuilder&) override { return Status(); }
  Status committed(Epoch) override { return Status(); }
  Result<bool> close() override {
    seen_.closed = true;
    return true;
  }
  flow::SinkCounts counts() const override { return {}; }

 private:
  Seen& seen_;
};

/// Keeps works until the test lets them go.
class HeldExecutor final : public env::Executor {
 public:
  void submit(uint64_t, std::function<void()> work) override { works.push_back(std::move(work)); }
  void drain() override {}
  std::vector<std::function<void()>> works;
};

class SinkTaskTest : public ::testing::Test {
 protected:
  SinkTaskTest() {
    context_.env.executor = &executor_;
    context_.master = &master_;
    task_ = std::make_shared<SinkTask>(0, "t.w", "sink-1", std::make_unique<SlowSink>(seen_),
                                       flow::SinkStart{}, std::vector<flow::Channel*>{&channel_}, context_);
    EXPECT_TRUE(task_->start().ok());
  }
  Step step() {
    auto step = task_->step(WallTime{0}, Phase::kCompletions);
    EXPECT_TRUE(step.ok());
    return step.ok() ? *std::move(step) : Step{};
  }

  SlowSink::Seen seen_;
  HeldExecutor executor_;
  Mailbox<MasterMessage> master_;
  AttemptContext context_;
  flow::Channel channel_{nullptr};
  std::shared_ptr<SinkTask> task_;
};

TEST_F(SinkTaskTest, AStopThatWasGivenUpWhileTheSinkWasSlowStopsNothing) {
  channel_.push(flow::Barrier{Epoch{1}, flow::BarrierKind::kStop});
  step();
  EXPECT_EQ(step().state, Step::State::kBlocked);
  task_->mailbox().post(CheckpointAborted{Epoch{1}});
  step();
  seen_.acknowledged = true;
  channel_.push(flow::Barrier{Epoch{2}, flow::BarrierKind::kCheckpoint});
  while (step().state == Step::State::kProgressed) {
  }
  task_->mailbox().post(CheckpointComplete{Epoch{2}});
  step();
  EXPECT_FALSE(seen_.closed);
}

TEST_F(SinkTaskTest, TheEndOfTheStopsOwnCheckpointClosesTheSink) {
  seen_.acknowledged = true;
  channel_.push(flow::Barrier{Epoch{1}, flow::BarrierKind::kStop});
  while (step().state == Step::State::kProgressed) {
  }
  task_->mailbox().post(CheckpointComplete{Epoch{1}});
  step();
  EXPECT_TRUE(seen_.closed);
}

// The notice may come after the barrier of the stop: what is behind it is in no complete checkpoint yet.
TEST_F(SinkTaskTest, TheEndOfAnEarlierCheckpointDoesNotCloseTheSink) {
  seen_.acknowledged = true;
  channel_.push(flow::Barrier{Epoch{2}, flow::BarrierKind::kStop});
  while (step().state == Step::State::kProgressed) {
  }
  task_->mailbox().post(CheckpointComplete{Epoch{1}});
  step();
  EXPECT_FALSE(seen_.closed);
}

// A task charges the memory account of its attempt when it goes: it must not outlive it.
TEST_F(SinkTaskTest, ASnapshotUnderWayDoesNotKeepTheTask) {
  seen_.acknowledged = true;
  channel_.push(flow::Barrier{Epoch{1}, flow::BarrierKind::kCheckpoint});
  while (step().state == Step::State::kProgressed) {
  }
  ASSERT_THAT(executor_.works, ::testing::SizeIs(1));
  task_.reset();
  EXPECT_TRUE(seen_.destroyed);
}

// ---- barriers that overtake

flow::Rows one_row(int64_t n) {
  const auto schema = std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"n", columnar::make_type(columnar::TypeKind::kBigInt, false)}});
  columnar::BatchBuilder builder(schema);
  builder.column(0).append(n);
  builder.end_row();
  return {builder.finish(), false};
}

TEST_F(SinkTaskTest, ABarrierOvertakesWhatTheSinkHasNotReadAndWaitsForWhatItHas) {
  task_->let_overtake({"n BIGINT"});
  channel_.push(flow::HeldEnd{});
  channel_.push(one_row(1));
  step();
  step();
  channel_.push(one_row(2));
  channel_.push(flow::Barrier{Epoch{1}, flow::BarrierKind::kCheckpoint, WallTime{0}});
  step();
  EXPECT_EQ(step().state, Step::State::kBlocked) << "row 1 is not acknowledged (W5)";
  EXPECT_THAT(executor_.works, ::testing::IsEmpty());
  seen_.acknowledged = true;
  while (step().state == Step::State::kProgressed) {
  }
  EXPECT_THAT(executor_.works, ::testing::SizeIs(1)) << "the snapshot";
  EXPECT_THAT(seen_.calls,
              ::testing::ElementsAre("held_end", "write 1 after barrier 0", "write 2 after barrier 1"));
}

// The notice that the epoch before was given up may come behind the next barrier.
TEST_F(SinkTaskTest, RowsInFrontOfABarrierAreNotInTheSnapshotOfAnEpochThatWasGivenUp) {
  flow::Channel other{nullptr};
  task_ = std::make_shared<SinkTask>(0, "t.w", "sink-1", std::make_unique<SlowSink>(seen_), flow::SinkStart{},
                                     std::vector<flow::Channel*>{&channel_, &other}, context_);
  EXPECT_TRUE(task_->start().ok());
  task_->let_overtake({"n BIGINT", "n BIGINT"});
  seen_.acknowledged = true;
  for (flow::Channel* channel : {&channel_, &other}) channel->push(flow::HeldEnd{});
  channel_.push(flow::Barrier{Epoch{1}, flow::BarrierKind::kCheckpoint, WallTime{0}});
  while (step().state == Step::State::kProgressed) {
  }
  EXPECT_THAT(executor_.works, ::testing::IsEmpty())
      << "what the other channel has in front of barrier 1 is missing";
  channel_.push(flow::Barrier{Epoch{2}, flow::BarrierKind::kCheckpoint, WallTime{0}});
  other.push(one_row(1));
  other.push(flow::Barrier{Epoch{2}, flow::BarrierKind::kCheckpoint, WallTime{0}});
  seen_.acknowledged = false;
  step();
  EXPECT_THAT(executor_.works, ::testing::SizeIs(1)) << "of epoch 1, without the row";
  task_->mailbox().post(CheckpointAborted{Epoch{1}});
  step();
  EXPECT_THAT(executor_.works, ::testing::SizeIs(1));
  seen_.acknowledged = true;
  while (step().state == Step::State::kProgressed) {
  }
  EXPECT_THAT(executor_.works, ::testing::SizeIs(2));
}

// They are older than anything that comes behind the restore, and no older than what the flush goes back to.
TEST_F(SinkTaskTest, RowsThatWereInFlightComeBetweenTheFlushAndWhatIsNew) {
  task_->restore_in_flight(one_row(1).batch);
  channel_.push(flow::HeldEnd{});
  channel_.push(one_row(2));
  while (step().state == Step::State::kProgressed) {
  }
  EXPECT_THAT(seen_.calls,
              ::testing::ElementsAre("held_end", "write 1 after barrier 0", "write 2 after barrier 0"));
}

}  // namespace
}  // namespace strand::runtime
