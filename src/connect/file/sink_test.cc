// The filesystem sink as a task drives it: checkpoints, notices that get lost, other numbers of subtasks,
// deaths.
#include "connect/file/sink.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "sim/env/env.h"

namespace strand::connect::file {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class TextEncoder final : public codec::RecordEncoder {
 public:
  Status encode(const columnar::Batch& batch, std::string& out) override {
    batch.for_each_row(
        [&](int64_t row) { out += std::to_string(batch.column(0).values<int64_t>()[row]) + "\n"; });
    return Status();
  }
};

columnar::Batch batch_of(int64_t value, columnar::RowKind kind = columnar::RowKind::kInsert) {
  columnar::BatchBuilder builder(std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"n", columnar::make_type(columnar::TypeKind::kBigInt)}}));
  builder.column(0).append(value);
  builder.end_row(kind);
  return builder.finish();
}

/// Numbers that a reader sees in the folder, sorted.
std::vector<int64_t> visible(env::FileSystem& files) {
  std::vector<int64_t> found;
  const auto entries = files.list("out");
  if (!entries.ok()) return found;
  for (const auto& entry : *entries) {
    if (entry.name[0] == '.') continue;
    const std::string text = *env::read_all(files, "out/" + entry.name);
    EXPECT_TRUE(text.ends_with('\n'));
    for (size_t at = 0; at < text.size(); at = text.find('\n', at) + 1)
      found.push_back(std::stoll(text.substr(at)));
  }
  std::sort(found.begin(), found.end());
  return found;
}

/// What a complete checkpoint holds.
struct Checkpoint {
  std::optional<Epoch> epoch;
  int64_t position = 0;
  std::vector<state::SectionRef> sections;
};

/// One attempt of a job whose sink has several subtasks.
class SinkRun {
 public:
  SinkRun(sim::SimEnv& env, env::FileSystem& store, int32_t parallelism, int64_t attempt,
          const Checkpoint& from)
      : store_(store) {
    TableContext table;
    table.table = "t";
    table.env = env.env();
    table.memory = &memory;
    FileOptions options;
    options.path = "out";
    options.format = "json";
    flow::SinkStart start;
    start.job = "job";
    start.parallelism = parallelism;
    start.attempt = {attempt};
    start.restored = from.epoch;
    state::SnapshotReader reader(store, "checkpoints");
    for (const auto& ref : from.sections) start.state.push_back(*reader.read(ref));
    for (start.subtask = 0; start.subtask < parallelism; ++start.subtask) {
      sinks.push_back(std::make_unique<FileSink>(table, options, std::make_unique<TextEncoder>()));
      EXPECT_TRUE(sinks.back()->start(start).ok());
    }
  }
  Checkpoint checkpoint(Epoch epoch, int64_t position) {
    Checkpoint made{epoch, position, {}};
    for (const auto& sink : sinks) {
      state::SnapshotBuilder builder(epoch, {0, 127});
      builder.set_operator("sink");
      EXPECT_TRUE(sink->before_barrier().ok());
      EXPECT_TRUE(sink->snapshot(epoch, builder).ok());
      const auto refs = builder.write(store_, "checkpoints");
      EXPECT_TRUE(refs.ok());
      made.sections.insert(made.sections.end(), refs->begin(), refs->end());
    }
    return made;
  }

  obs::MemoryAccount memory;
  std::vector<std::unique_ptr<FileSink>> sinks;

 private:
  env::FileSystem& store_;
};

void run_all(sim::SimEnv& env) {
  Random random(1);
  while (env.executor.run_one(random)) {
  }
}

struct Machine {
  sim::SimEnv env{1, WallTime{0}};
  sim::SimEnv store{2, WallTime{0}};
  Machine() { EXPECT_TRUE(store.files.make_dirs("checkpoints").ok()); }
};

TEST(FileSink, RowsAreHeldBackUntilTheirCheckpointIsComplete) {
  Machine machine;
  SinkRun run(machine.env, machine.store.files, 1, 1, {});
  FileSink& sink = *run.sinks[0];
  EXPECT_TRUE(*sink.busy()) << "the folder is claimed first";
  run_all(machine.env);
  EXPECT_FALSE(*sink.busy());
  ASSERT_TRUE(sink.write(batch_of(1), {}).ok());
  EXPECT_GT(run.memory.used(), 0);
  EXPECT_TRUE(*sink.drained()) << "the rows travel in the checkpoint; nothing has to be waited for";
  run.checkpoint(Epoch{1}, 0);
  ASSERT_TRUE(sink.write(batch_of(2), {}).ok());
  run_all(machine.env);
  EXPECT_THAT(visible(machine.env.files), IsEmpty());
  ASSERT_TRUE(sink.committed(Epoch{1}).ok());
  run_all(machine.env);
  EXPECT_THAT(visible(machine.env.files), ElementsAre(1));
  EXPECT_EQ(sink.counts().written, 1);
  EXPECT_EQ(sink.counts().pending, 1);
  EXPECT_EQ(sink.close().status().code(), ErrorCode::kInternal) << "row 2 is in no checkpoint";
}

TEST(FileSink, TheLastEpochIsCommittedAtTheEndEvenIfTheNoticeIsLost) {
  Machine machine;
  SinkRun run(machine.env, machine.store.files, 1, 1, {});
  run_all(machine.env);
  ASSERT_TRUE(run.sinks[0]->write(batch_of(1), {}).ok());
  run.checkpoint(Epoch{1}, 0);
  EXPECT_FALSE(*run.sinks[0]->close());
  run_all(machine.env);
  EXPECT_TRUE(*run.sinks[0]->close());
  EXPECT_THAT(visible(machine.env.files), ElementsAre(1));
  EXPECT_TRUE(*run.sinks[0]->busy() == false && run.memory.used() < 64);
}

TEST(FileSink, ARowThatTakesBackAnotherIsRefused) {
  Machine machine;
  SinkRun run(machine.env, machine.store.files, 1, 1, {});
  run_all(machine.env);
  const Status status = run.sinks[0]->write(batch_of(1, columnar::RowKind::kDelete), {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kSinkSchema);
  EXPECT_THAT(status.hint(), HasSubstr("primary key"));
}

TEST(FileSink, AFolderThatIsAheadOfTheStateComesOutOfBusy) {
  Machine machine;
  SinkRun first(machine.env, machine.store.files, 1, 1, {});
  run_all(machine.env);
  ASSERT_TRUE(first.sinks[0]->write(batch_of(1), {}).ok());
  first.checkpoint(Epoch{1}, 0);
  ASSERT_TRUE(first.sinks[0]->committed(Epoch{1}).ok());
  run_all(machine.env);
  SinkRun anew(machine.env, machine.store.files, 1, 2, {});
  run_all(machine.env);
  EXPECT_EQ(anew.sinks[0]->busy().status().code(), ErrorCode::kSinkAhead);
}

TEST(FileSink, ADamagedSectionIsRefused) {
  const std::string bytes = encode_sealed({{0, {1}, {1}, 1, std::make_shared<const std::string>("1\n")}});
  ASSERT_TRUE(decode_sealed(bytes).ok());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_EQ(decode_sealed(std::string_view(bytes).substr(0, size)).status().code(),
              ErrorCode::kCheckpointUnreadable);
  }
}

/// Random histories: numbers go through 1 to 3 subtasks, checkpoints come and their notices get lost, the
/// background work of the lanes runs when it likes, and the process or the machine dies at a random call, up
/// to four times.
class History {
 public:
  explicit History(uint64_t seed) : random_(seed), env_(seed, WallTime{0}), store_(seed + 1, WallTime{0}) {
    EXPECT_TRUE(store_.files.make_dirs("checkpoints").ok());
  }

  void run() {
    for (int64_t attempt = 1;; ++attempt) {
      ASSERT_LE(attempt, 5);
      env_.files.set_plan(attempt == 5 ? sim::FaultPlan()
                                       : sim::crash_at(env_.files.calls() + 1 + random_.below(150)));
      const auto parallelism = static_cast<int32_t>(1 + random_.below(3));
      SinkRun run(env_, store_.files, parallelism, attempt, last_);
      const Status status = drive(run);
      if (status.ok()) break;
      ASSERT_TRUE(env_.files.dead()) << status.to_string();
      if (random_.chance(0.5)) {
        env_.crash();
      } else {
        env_.power_loss(random_);
      }
      ++deaths;
    }
    env_.files.set_plan({});
    std::vector<int64_t> expected;
    for (int64_t n = 0; n < kRows; ++n) expected.push_back(n);
    ASSERT_EQ(visible(env_.files), expected);
  }
  int deaths = 0;

 private:
  static constexpr int64_t kRows = 60;

  Status drive(SinkRun& run) {
    for (const auto& sink : run.sinks) {
      STRAND_TRY(bool busy, sink->busy());
      while (busy) {
        env_.executor.run_one(random_);
        STRAND_TRY(busy, sink->busy());
      }
    }
    int64_t position = last_.position;
    while (position < kRows) {
      if (random_.chance(0.5)) {
        FileSink& sink = *run.sinks[static_cast<size_t>(position) % run.sinks.size()];
        STRAND_OK(sink.busy().ok() ? Status() : sink.busy().status());
        STRAND_OK(sink.write(batch_of(position), {}));
        ++position;
      } else if (random_.chance(0.5)) {
        env_.executor.run_one(random_);
      } else {
        STRAND_OK(take_checkpoint(run, position, /*may_fail=*/true));
      }
    }
    STRAND_OK(take_checkpoint(run, position, /*may_fail=*/false));
    for (const auto& sink : run.sinks) {
      STRAND_TRY(bool closed, sink->close());
      while (!closed) {
        env_.executor.run_one(random_);
        STRAND_TRY(closed, sink->close());
      }
    }
    return Status();
  }

  Status take_checkpoint(SinkRun& run, int64_t position, bool may_fail) {
    const Checkpoint made = run.checkpoint(Epoch{++epoch_}, position);
    if (may_fail && random_.chance(0.2)) return Status();  // it fails somewhere else; the number is used up
    last_ = made;
    for (const auto& sink : run.sinks) {
      if (random_.chance(0.8)) STRAND_OK(sink->committed(*last_.epoch));
    }
    return Status();
  }

  Random random_;
  sim::SimEnv env_;
  sim::SimEnv store_;
  int64_t epoch_ = 0;
  Checkpoint last_;
};

TEST(FileSink, RandomHistoriesEndWithEveryRowOnce) {
  int deaths = 0;
  for (uint64_t seed = 1; seed <= 1'500; ++seed) {
    History history(seed);
    history.run();
    if (HasFatalFailure()) FAIL() << "seed " << seed;
    deaths += history.deaths;
  }
  EXPECT_GT(deaths, 1'500);
}

}  // namespace
}  // namespace strand::connect::file
