#include "engine/running_job.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include <future>
#include <thread>

#include "env/real.h"
#include "sql/compile.h"

namespace strand::engine {
namespace {

/// What the source and the sink of the test's job do.
struct Script {
  std::promise<void> polled;  // for the first time
  std::atomic<bool> told{false};
  std::atomic<bool> broken{false};
  std::atomic<bool> stuck{true};
  std::atomic<int> looks{0};
  std::optional<Duration> look_interval;
  int64_t held_bytes = 0;  // by the sink, for ever
};

class OneShard final : public flow::ShardFinder {
 public:
  explicit OneShard(Script& script) : script_(script) {}
  Result<std::vector<std::string>> find() override {
    ++script_.looks;
    return std::vector<std::string>{"S1"};
  }
  std::optional<Duration> interval() const override { return script_.look_interval; }

 private:
  Script& script_;
};

/// Has nothing to read, until it breaks.
class SilentReader final : public flow::SourceReader {
 public:
  explicit SilentReader(Script& script) : script_(script) {}
  Status assign(const ShardState& shard) override {
    shard_ = shard;
    return Status();
  }
  Result<flow::Polled> poll(WallTime now) override {
    if (!script_.told.exchange(true)) script_.polled.set_value();
    if (script_.broken) return Status(ErrorCode::kIo, "the shard is gone");
    flow::Polled nothing;
    nothing.until = now + Duration{1};
    return nothing;
  }
  size_t shards() const override { return shard_ ? 1 : 0; }
  ShardState state(size_t) const override { return *shard_; }
  bool ended(size_t) const override { return false; }

 private:
  Script& script_;
  std::optional<ShardState> shard_;
};

/// Acknowledges nothing while it is stuck, so that no savepoint is complete.
class StuckSink final : public flow::Sink {
 public:
  StuckSink(Script& script, obs::MemoryAccount* memory) : script_(script), memory_(memory) {
    memory_.set(script.held_bytes);
  }
  Status start(const flow::SinkStart&) override { return Status(); }
  Status held(const flow::Batch&) override { return Status(); }
  Status held_end() override { return Status(); }
  Status write(const flow::Batch&, flow::WriteTag) override { return Status(); }
  Result<bool> busy() override { return false; }
  Status before_barrier() override { return Status(); }
  Result<bool> drained() override { return !script_.stuck; }
  Status snapshot(Epoch, state::SnapshotBuilder&) override { return Status(); }
  Status committed(Epoch) override { return Status(); }
  Result<bool> close() override { return true; }
  flow::SinkCounts counts() const override { return {}; }

 private:
  Script& script_;
  obs::MemoryShare memory_;
};

/// Keeps the events of a number.
class Events final : public obs::EventSink {
 public:
  explicit Events(ErrorCode code) : code_(static_cast<int>(code)) {}
  void on_event(obs::Event event) override {
    if (event.code == code_) ++seen;
  }
  std::atomic<int> seen{0};

 private:
  int code_;
};

/// Counts how often somebody has waited for it.
class CountingExecutor final : public env::Executor {
 public:
  void submit(uint64_t lane, std::function<void()> work) override { inner_.submit(lane, std::move(work)); }
  void drain() override {
    ++drained;
    inner_.drain();
  }
  std::atomic<int> drained{0};

 private:
  env::ThreadExecutor inner_;
};

class RunningJobTest : public ::testing::Test {
 protected:
  RunningJobTest() {
    std::string pattern = ::testing::TempDir() + "strand-job-XXXXXX";
    options_.job = "job";
    root_ = ::mkdtemp(pattern.data());
    options_.checkpoint_dir = root_ + "/checkpoints";
    options_.savepoint_dir = root_ + "/savepoints";
    connect::Connector source;
    source.finder = [this](const connect::TableContext&) -> Result<std::unique_ptr<flow::ShardFinder>> {
      return std::unique_ptr<flow::ShardFinder>(std::make_unique<OneShard>(script_));
    };
    source.reader = [this](const connect::TableContext&) -> Result<std::unique_ptr<flow::SourceReader>> {
      return std::unique_ptr<flow::SourceReader>(std::make_unique<SilentReader>(script_));
    };
    registry_.add("silent", std::move(source));
    connect::Connector sink;
    sink.sink = [this](const connect::TableContext& table) -> Result<std::unique_ptr<flow::Sink>> {
      return std::unique_ptr<flow::Sink>(std::make_unique<StuckSink>(script_, table.memory));
    };
    registry_.add("stuck", std::move(sink));
  }
  ~RunningJobTest() override { EXPECT_TRUE(files_.remove_all(root_).ok()); }

  plan::Plan plan() const {
    sql::SqlInput input;
    input.file = "job.sql";
    input.text =
        "CREATE TABLE clicks (n BIGINT) WITH ('connector' = 'silent');\n"
        "CREATE TABLE seen (n BIGINT) WITH ('connector' = 'stuck');\n"
        "INSERT INTO seen SELECT n FROM clicks;";
    auto compiled = sql::compile(input);
    EXPECT_TRUE(compiled.ok()) << compiled.status().to_string();
    return compiled->plan;
  }
  env::Env env() { return {&clock_, &files_, &executor_}; }
  std::unique_ptr<RunningJob> job(obs::EventSink* events = nullptr) {
    runtime::RestartOptions never;
    never.strategy = runtime::RestartOptions::Strategy::kNone;
    return std::make_unique<RunningJob>(plan(), registry_, options_, never, env(), events);
  }

  std::string root_;
  Script script_;
  env::RealClock clock_;
  env::PosixFileSystem files_;
  CountingExecutor executor_;
  connect::Registry registry_;
  runtime::JobOptions options_;
};

TEST_F(RunningJobTest, WhoWaitsForASavepointMayLookAtTheJobWhenTheAttemptDies) {
  const auto running = job();
  std::promise<Status> answered;
  std::thread thread([&] { EXPECT_EQ(running->run({}).kind, JobEnd::Kind::kFailed); });
  script_.polled.get_future().wait();
  running->savepoint(false, false, [&](Status status, const std::string&) {
    EXPECT_FALSE(running->view().attempt);
    answered.set_value(std::move(status));
  });
  script_.broken = true;
  EXPECT_EQ(answered.get_future().get().code(), ErrorCode::kNoSuchJob);
  thread.join();
}

// Event time has ended for it and cannot be taken back.
TEST_F(RunningJobTest, AStopWithDrainThatFailsStartsTheJobAgainWhateverTheStrategyAndItCanBeStoppedThen) {
  options_.checkpoints.interval.reset();
  options_.checkpoints.timeout = Duration{300};
  const auto running = job();
  JobEnd end{};
  std::thread thread([&] { end = running->run({}); });
  script_.polled.get_future().wait();
  const auto stop = [&] {
    std::promise<Status> answered;
    running->savepoint(true, true,
                       [&](Status status, const std::string&) { answered.set_value(std::move(status)); });
    return answered.get_future().get();
  };
  EXPECT_EQ(stop().code(), ErrorCode::kCheckpointTimeout);
  script_.stuck = false;
  script_.polled = {};
  script_.told = false;
  script_.polled.get_future().wait();
  EXPECT_EQ(running->view().restarts, 1);
  EXPECT_THAT(running->view().last_error, ::testing::HasSubstr("stop with drain"));
  while (!stop().ok()) {  // on a busy machine the timeout may hit again
  }
  thread.join();
  EXPECT_EQ(end.kind, JobEnd::Kind::kStopped);
}

// Its folder may be locked by another process the moment it is gone.
TEST_F(RunningJobTest, NothingInTheBackgroundOutlivesTheJob) {
  auto running = job();
  const int before = executor_.drained;
  running.reset();
  EXPECT_EQ(executor_.drained, before + 1);
}

TEST_F(RunningJobTest, AnAttemptWaitsForTheBackgroundWorkOfTheOneBefore) {
  std::promise<void> go_on;
  std::atomic<bool> over{false};
  executor_.submit(1, [&, wait = go_on.get_future().share()] {
    wait.wait();
    over = true;
  });
  const plan::Plan plan = this->plan();
  std::thread thread([&] {
    const auto attempt = runtime::JobAttempt::start(plan, registry_, options_, {}, env(), nullptr);
    EXPECT_TRUE(over) << "it restored while a dead attempt still wrote";
    EXPECT_TRUE(attempt.ok()) << attempt.status().to_string();
  });
  while (executor_.drained == 0) std::this_thread::yield();
  EXPECT_FALSE(files_.stat(options_.checkpoint_dir).ok());
  go_on.set_value();
  thread.join();
}

// Its state may shrink only as event time passes, and that needs rows.
TEST_F(RunningJobTest, WhereNothingDrainsSourcesReadOnAndTheJobSaysSo) {
  options_.memory_limit = 1'000'000;
  options_.checkpoints.interval.reset();
  script_.held_bytes = 950'000;
  script_.stuck = false;
  Events events(ErrorCode::kMemoryLimit);
  const auto running = job(&events);
  std::thread thread([&] { EXPECT_EQ(running->run({}).kind, JobEnd::Kind::kAbandoned); });
  script_.polled.get_future().wait();
  EXPECT_EQ(events.seen, 1);
  running->abandon();
  thread.join();
}

TEST_F(RunningJobTest, AClockThatIsSetBackDoesNotPutOffTheLookForNewShards) {
  script_.look_interval = Duration{60'000};
  const plan::Plan plan = this->plan();
  const auto attempt = runtime::JobAttempt::start(plan, registry_, options_, {}, env(), nullptr);
  ASSERT_TRUE(attempt.ok()) << attempt.status().to_string();
  const WallTime started = (*attempt)->restore_report().at;
  EXPECT_EQ(script_.looks, 1);
  EXPECT_TRUE((*attempt)->step(started + Duration{100}).ok());
  EXPECT_EQ(script_.looks, 1);
  EXPECT_TRUE((*attempt)->step(WallTime{started.millis - 3'600'000}).ok());
  EXPECT_EQ(script_.looks, 2);
}

TEST_F(RunningJobTest, ARequestForASavepointWakesTheMaster) {
  const plan::Plan plan = this->plan();
  const auto attempt = runtime::JobAttempt::start(plan, registry_, options_, {}, env(), nullptr);
  ASSERT_TRUE(attempt.ok()) << attempt.status().to_string();
  int woken = 0;
  (*attempt)->mailbox().set_waker([&] { ++woken; });
  (*attempt)->ask_savepoint(false, false, [](const Status&, const std::string&) {});
  EXPECT_EQ(woken, 1);
}

// ---- restores

/// A job that counts in windows, and a snapshot of it.
class RestoreTest : public RunningJobTest {
 protected:
  RestoreTest() {
    sql::SqlInput input;
    input.file = "job.sql";
    input.text =
        "CREATE TABLE clicks (ad STRING, ts TIMESTAMP(3), WATERMARK FOR ts AS ts - INTERVAL '5' SECOND)\n"
        "WITH ('connector' = 'silent');\n"
        "CREATE TABLE counts (ad STRING, w TIMESTAMP(3), n BIGINT) WITH ('connector' = 'stuck');\n"
        "INSERT INTO counts SELECT ad, window_start, COUNT(*) FROM TABLE(\n"
        "  TUMBLE(TABLE clicks, DESCRIPTOR(ts), INTERVAL '1' MINUTE)) GROUP BY ad, window_start, window_end;";
    auto compiled = sql::compile(input);
    EXPECT_TRUE(compiled.ok()) << compiled.status().to_string();
    if (compiled.ok()) plan_ = compiled->plan;
    for (const plan::NodePtr& node : plan_.nodes()) {
      if (std::holds_alternative<plan::WindowAggregate>(node->detail)) window_ = node->id;
    }
    EXPECT_FALSE(window_.empty());
    manifest_.job = options_.job;
    manifest_.epoch = Epoch{7};
    manifest_.generation = Generation{1};
    manifest_.attempt = Attempt{1};
    manifest_.max_parallelism = options_.max_parallelism;
    manifest_.fingerprint = plan::fingerprint(plan_);
  }
  std::unique_ptr<runtime::JobAttempt> restored() {
    auto store = checkpoint::Store::open(files_, options_.checkpoint_dir, options_.savepoint_dir, "job");
    EXPECT_TRUE(store.ok());
    EXPECT_TRUE(store->record_attempt({Generation{1}, Attempt{1}, std::nullopt, Epoch{7}, true}).ok());
    EXPECT_TRUE(store->complete(manifest_).ok());
    auto attempt = runtime::JobAttempt::start(plan_, registry_, options_, {}, env(), nullptr);
    EXPECT_TRUE(attempt.ok()) << attempt.status().to_string();
    return attempt.ok() ? *std::move(attempt) : nullptr;
  }
  static checkpoint::OperatorPart part(std::initializer_list<std::pair<obs::Entry, int64_t>> counts) {
    checkpoint::OperatorPart part;
    for (const auto& [entry, count] : counts) part.ledger.add(entry, count);
    return part;
  }
  obs::Ledger ledger_of(runtime::JobAttempt& attempt, const std::string& id) {
    obs::Ledger ledger;
    for (const auto& task : attempt.tasks()) {
      task->publish();
      for (const auto& op : task->view().operators) {
        if (op.id == id) ledger += op.ledger;
      }
    }
    return ledger;
  }

  plan::Plan plan_;
  std::string window_;
  checkpoint::Manifest manifest_;
};

TEST_F(RestoreTest, TheMaximumParallelismIsThatOfTheSnapshotUnlessAnotherIsGiven) {
  manifest_.max_parallelism = 256;
  options_.keeps_max_parallelism = true;
  EXPECT_NE(restored(), nullptr);
  options_.keeps_max_parallelism = false;
  const auto refused = runtime::JobAttempt::start(plan_, registry_, options_, {}, env(), nullptr);
  EXPECT_EQ(refused.status().code(), ErrorCode::kMaxParallelism);
}

TEST_F(RestoreTest, ASnapshotOfANewerGenerationBeginsAHigherOne) {
  manifest_.generation = Generation{3};
  options_.taken = Generation{5};
  const auto attempt = restored();
  ASSERT_NE(attempt, nullptr);
  EXPECT_EQ(attempt->restore_report().generation, Generation{6});
  EXPECT_EQ(attempt->restore_report().attempt, Attempt{1});
}

// At two subtasks the window is split: 100 rows came to the first half, 3 of them late, and 97 became 12
// sums.
TEST_F(RestoreTest, AWindowThatIsSplitNoMoreHasTheBooksOfBothHalves) {
  using obs::Entry;
  manifest_.operators[window_ + ".partial"] = {
      part({{Entry::kIn, 60}, {Entry::kCounted, 57}, {Entry::kLate, 3}, {Entry::kOut, 7}}),
      part({{Entry::kIn, 40}, {Entry::kCounted, 40}, {Entry::kOut, 5}})};
  manifest_.operators[window_] = {part({{Entry::kIn, 12}, {Entry::kCounted, 12}, {Entry::kOut, 4}})};
  const auto attempt = restored();
  ASSERT_NE(attempt, nullptr);
  EXPECT_EQ(ledger_of(*attempt, window_),
            part({{Entry::kIn, 100}, {Entry::kCounted, 97}, {Entry::kLate, 3}, {Entry::kOut, 4}}).ledger);
}

// replay.md T6
TEST_F(RestoreTest, AFloorFurtherAheadOfTheClockThanAllowedIsAnAlarm) {
  options_.future_skew = Duration{600'000};
  checkpoint::OperatorPart ahead;
  ahead.floors = {{KeyGroupRange{0, 127}, EventTime{clock_.now().millis + 3'600'000}}};
  manifest_.operators[window_] = {ahead};
  const auto attempt = restored();
  ASSERT_NE(attempt, nullptr);
  const Status& alarm = attempt->restore_report().floor_ahead;
  EXPECT_EQ(alarm.code(), ErrorCode::kClockInFuture);
  EXPECT_EQ(alarm.where(), window_);
}

TEST_F(RestoreTest, AFloorNearTheClockIsNone) {
  options_.future_skew = Duration{600'000};
  checkpoint::OperatorPart near;
  near.floors = {{KeyGroupRange{0, 127}, EventTime{clock_.now().millis - 5'000}}};
  manifest_.operators[window_] = {near};
  const auto attempt = restored();
  ASSERT_NE(attempt, nullptr);
  EXPECT_TRUE(attempt->restore_report().floor_ahead.ok());
}

}  // namespace
}  // namespace strand::engine
