// The promise of the filesystem sink: wherever a job dies, its folder ends up with every row once.
#include "connect/file/sink_folder.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "sim/env/files.h"

namespace strand::connect::file {
namespace {

using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr const char* kDir = "out";

class Disk {
 public:
  explicit Disk(uint64_t seed) : files(seed, &trace, &counts) {}
  sim::Trace trace{false};
  sim::FaultCounts counts;
  sim::SimFileSystem files;
};

SealedEpoch sealed(int32_t subtask, int64_t epoch, const std::string& line, int64_t generation = 1) {
  return {subtask, {generation}, {epoch}, 1, std::make_shared<const std::string>(line + "\n")};
}

SinkFolder folder_of(env::FileSystem& files, int64_t generation, int64_t attempt,
                     const std::string& job = "job", const std::string& writer = "") {
  return SinkFolder(files, kDir, "json", {job, "t", writer, {generation}, {attempt}});
}

std::vector<std::string> names(env::FileSystem& files) {
  std::vector<std::string> found;
  const auto entries = files.list(kDir);
  if (!entries.ok()) return found;
  for (const auto& entry : *entries) {
    if (entry.name[0] != '.') found.push_back(entry.name);
  }
  return found;
}

/// What a reader who globs the folder sees.
std::vector<std::string> lines(env::FileSystem& files) {
  std::vector<std::string> found;
  for (const std::string& name : names(files)) {
    const auto text = env::read_all(files, std::string(kDir) + "/" + name);
    EXPECT_TRUE(text.ok());
    EXPECT_TRUE(text->ends_with('\n')) << "half a file is visible: " << name;
    size_t start = 0;
    for (size_t end = text->find('\n'); end != std::string::npos;
         start = end + 1, end = text->find('\n', start)) {
      found.push_back(text->substr(start, end - start));
    }
  }
  std::sort(found.begin(), found.end());
  return found;
}

TEST(SinkFolder, RowsShowWhenTheirEpochIsCommitted) {
  Disk disk(1);
  SinkFolder folder = folder_of(disk.files, 7, 2);
  ASSERT_TRUE(folder.recover(std::nullopt, {}).ok());
  EXPECT_THAT(lines(disk.files), IsEmpty());
  ASSERT_TRUE(folder.commit({sealed(0, 41, "a", 7), sealed(0, 42, "b", 7)}).ok());
  EXPECT_THAT(names(disk.files), ElementsAre("part-0-7-41.json", "part-0-7-42.json"));
  EXPECT_THAT(lines(disk.files), ElementsAre("a", "b"));
}

TEST(SinkFolder, ACommitThatIsRepeatedChangesNothing) {
  Disk disk(1);
  SinkFolder folder = folder_of(disk.files, 1, 1);
  ASSERT_TRUE(folder.recover(std::nullopt, {}).ok());
  ASSERT_TRUE(folder.commit({sealed(0, 1, "a")}).ok());
  ASSERT_TRUE(folder.commit({sealed(0, 1, "a")}).ok());
  EXPECT_THAT(lines(disk.files), ElementsAre("a"));
}

TEST(SinkFolder, FilesThatReadersHaveTakenAwayDoNotComeAgain) {
  Disk disk(1);
  SinkFolder folder = folder_of(disk.files, 1, 1);
  ASSERT_TRUE(folder.recover(std::nullopt, {}).ok());
  ASSERT_TRUE(folder.commit({sealed(0, 1, "a")}).ok());
  ASSERT_TRUE(disk.files.remove("out/part-0-1-1.json").ok());
  disk.files.crash();
  ASSERT_TRUE(folder_of(disk.files, 1, 2).recover(Epoch{1}, {sealed(0, 1, "a")}).ok());
  EXPECT_THAT(lines(disk.files), IsEmpty());
}

TEST(SinkFolder, ANoteThatCannotBeReadIsAnErrorNotAReasonToWriteAgain) {
  Disk disk(1);
  SinkFolder folder = folder_of(disk.files, 1, 1);
  ASSERT_TRUE(folder.recover(std::nullopt, {}).ok());
  ASSERT_TRUE(folder.commit({sealed(0, 1, "a")}).ok());
  ASSERT_TRUE(disk.files.remove("out/part-0-1-1.json").ok());
  disk.files.set_plan([](const sim::CallInfo& info) {
    const bool note =
        info.call == sim::Call::kOpenRead && info.path.find("shown-0") != std::string_view::npos;
    return note ? sim::Fault::kIoError : sim::Fault::kNone;
  });
  EXPECT_EQ(folder_of(disk.files, 1, 2).recover(Epoch{1}, {sealed(0, 1, "a")}).code(), ErrorCode::kIo);
  EXPECT_THAT(lines(disk.files), IsEmpty());
}

TEST(SinkFolder, FilesThatReadersHaveTakenAwayDoNotComeAgainWhereThePowerFails) {
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    Disk disk(seed);
    SinkFolder folder = folder_of(disk.files, 1, 1);
    ASSERT_TRUE(folder.recover(std::nullopt, {}).ok());
    ASSERT_TRUE(folder.commit({sealed(0, 1, "a")}).ok());
    ASSERT_TRUE(disk.files.remove("out/part-0-1-1.json").ok());
    ASSERT_TRUE(disk.files.sync_dir("out").ok());
    Random random(seed);
    disk.files.power_loss(random);
    ASSERT_TRUE(folder_of(disk.files, 1, 2).recover(Epoch{1}, {sealed(0, 1, "a")}).ok());
    ASSERT_THAT(lines(disk.files), IsEmpty()) << "seed " << seed;
  }
}

TEST(SinkFolder, RowsOfTheCheckpointAreCommittedAfterARestoreUnderTheSubtaskThatMadeThem) {
  Disk disk(1);
  // Two subtasks before, one after: nobody has the number of the second any more.
  ASSERT_TRUE(folder_of(disk.files, 1, 2).recover(Epoch{5}, {sealed(0, 5, "a"), sealed(1, 5, "b")}).ok());
  EXPECT_THAT(names(disk.files), ElementsAre("part-0-1-5.json", "part-1-1-5.json"));
  EXPECT_THAT(lines(disk.files), ElementsAre("a", "b"));
}

TEST(SinkFolder, AnOlderAttemptCannotCommitAfterANewerHasClaimed) {
  Disk disk(1);
  SinkFolder old = folder_of(disk.files, 1, 1);
  ASSERT_TRUE(old.recover(std::nullopt, {}).ok());
  ASSERT_TRUE(folder_of(disk.files, 1, 2).recover(std::nullopt, {}).ok());
  const Status status = old.commit({sealed(0, 1, "a")});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kFenced);
  EXPECT_THAT(status.message(), HasSubstr("attempt 2 has claimed"));
  EXPECT_THAT(lines(disk.files), IsEmpty());
  EXPECT_EQ(old.recover(std::nullopt, {}).code(), ErrorCode::kFenced);
}

TEST(SinkFolder, AStateOlderThanTheFolderIsRefusedAndNothingIsTouched) {
  Disk disk(1);
  SinkFolder first = folder_of(disk.files, 1, 1);
  ASSERT_TRUE(first.recover(std::nullopt, {}).ok());
  ASSERT_TRUE(first.commit({sealed(0, 41, "a")}).ok());
  const Status status = folder_of(disk.files, 2, 1).recover(Epoch{36}, {sealed(0, 36, "old")});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kSinkAhead);
  EXPECT_THAT(status.to_string(), HasSubstr("--from latest"));
  EXPECT_THAT(lines(disk.files), ElementsAre("a"));
  EXPECT_TRUE(first.commit({sealed(0, 42, "b")}).ok())
      << "a refused start must not lock out the job that runs";
  EXPECT_EQ(folder_of(disk.files, 2, 1).recover(std::nullopt, {}).code(), ErrorCode::kSinkAhead);
}

TEST(SinkFolder, AFolderOfAnotherJobIsRefusedAndAWriterNameLetsBothIn) {
  Disk disk(1);
  SinkFolder mine = folder_of(disk.files, 1, 1);
  ASSERT_TRUE(mine.recover(std::nullopt, {}).ok());
  const Status status = folder_of(disk.files, 9, 9, "other").recover(std::nullopt, {});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kWriterTaken);
  SinkFolder other = folder_of(disk.files, 1, 1, "other", "second");
  ASSERT_TRUE(other.recover(std::nullopt, {}).ok());
  ASSERT_TRUE(mine.commit({sealed(0, 1, "a")}).ok());
  ASSERT_TRUE(other.commit({sealed(0, 1, "b")}).ok());
  EXPECT_THAT(lines(disk.files), ElementsAre("a", "b"));
}

/// A job of two subtasks and a few epochs over one folder. The checkpoints, which are somebody else's
/// promise, live outside the disk. Dies wherever `plan` says and goes on with the next attempt.
class Job {
 public:
  Job(Disk& disk, bool power_loss, uint64_t seed) : disk_(disk), power_loss_(power_loss), random_(seed) {}

  /// Ok once everything is committed; an error that no restart would cure.
  Status run() {
    for (int64_t attempt = 1; attempt <= 4; ++attempt) {
      Status status = run_attempt(attempt);
      if (status.ok()) return status;
      const bool curable = status.code() == ErrorCode::kIo || status.code() == ErrorCode::kDiskFull;
      if (!disk_.files.dead() && !curable) return status;
      if (power_loss_) {
        disk_.files.power_loss(random_);
      } else {
        disk_.files.crash();
      }
    }
    return Status(ErrorCode::kInternal, "four attempts have failed");
  }
  static std::vector<std::string> everything() {
    std::vector<std::string> rows;
    for (int64_t epoch = 1; epoch <= kEpochs; ++epoch) {
      for (int32_t subtask = 0; subtask < 2; ++subtask) rows.push_back(row(subtask, epoch));
    }
    std::sort(rows.begin(), rows.end());
    return rows;
  }

 private:
  static constexpr int64_t kEpochs = 4;
  static std::string row(int32_t subtask, int64_t epoch) {
    return "s" + std::to_string(subtask) + "e" + std::to_string(epoch);
  }

  Status run_attempt(int64_t attempt) {
    SinkFolder folder = folder_of(disk_.files, 1, attempt);
    const std::optional<Epoch> restored = complete_ == 0 ? std::nullopt : std::optional(Epoch{complete_});
    STRAND_OK(folder.recover(restored, checkpoint_));
    std::vector<SealedEpoch> held;  // not acknowledged
    for (int64_t epoch = complete_ + 1; epoch <= kEpochs; ++epoch) {
      for (int32_t subtask = 0; subtask < 2; ++subtask)
        held.push_back(sealed(subtask, epoch, row(subtask, epoch)));
      checkpoint_ = held;
      complete_ = epoch;
      if (epoch == 2) continue;  // its notice is lost: the next commit takes two epochs
      for (int32_t subtask = 0; subtask < 2; ++subtask) {
        std::vector<SealedEpoch> due;
        for (const auto& one : held) {
          if (one.subtask == subtask) due.push_back(one);
        }
        STRAND_OK(folder.commit(due));
        std::erase_if(held, [&](const auto& one) { return one.subtask == subtask; });
      }
    }
    return Status();
  }

  Disk& disk_;
  bool power_loss_;
  Random random_;
  int64_t complete_ = 0;
  std::vector<SealedEpoch> checkpoint_;
};

uint64_t calls_of_a_whole_run() {
  Disk disk(1);
  EXPECT_TRUE(Job(disk, false, 1).run().ok());
  return disk.files.calls();
}

TEST(SinkFolder, NoRowIsLostOrDoubledWhereverTheProcessDies) {
  const uint64_t calls = calls_of_a_whole_run();
  ASSERT_GT(calls, 100u);
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    for (uint64_t at = 1; at <= calls; ++at) {
      Disk disk(seed);
      disk.files.set_plan(sim::crash_at(at));
      ASSERT_TRUE(Job(disk, /*power_loss=*/false, seed).run().ok()) << "at call " << at;
      ASSERT_THAT(lines(disk.files), ElementsAreArray(Job::everything()))
          << "crash at call " << at << ", seed " << seed;
    }
  }
}

TEST(SinkFolder, NoRowIsLostOrDoubledWhereverThePowerFails) {
  const uint64_t calls = calls_of_a_whole_run();
  for (uint64_t seed = 1; seed <= 20; ++seed) {
    for (uint64_t at = 1; at <= calls; ++at) {
      Disk disk(seed);
      disk.files.set_plan(sim::crash_at(at));
      ASSERT_TRUE(Job(disk, /*power_loss=*/true, seed * 1'000 + at).run().ok()) << "at call " << at;
      ASSERT_THAT(lines(disk.files), ElementsAreArray(Job::everything()))
          << "at call " << at << ", seed " << seed;
    }
  }
}

TEST(SinkFolder, NoRowIsLostOrDoubledWhereverACallFails) {
  const uint64_t calls = calls_of_a_whole_run();
  for (const sim::Fault fault : {sim::Fault::kIoError, sim::Fault::kDiskFull, sim::Fault::kTornWrite}) {
    for (uint64_t at = 1; at <= calls; ++at) {
      Disk disk(at);
      disk.files.set_plan(sim::fail_at(at, fault));
      ASSERT_TRUE(Job(disk, /*power_loss=*/false, at).run().ok()) << "at call " << at;
      ASSERT_THAT(lines(disk.files), ElementsAreArray(Job::everything()))
          << sim::fault_name(fault) << " at call " << at;
    }
  }
}

// The canary: without the syncs a power failure must be seen to lose rows, or the tests above prove nothing.
TEST(SinkFolder, WithoutSyncsAPowerFailureLosesRows) {
  const uint64_t calls = calls_of_a_whole_run();
  int wrong = 0;
  for (uint64_t at = 1; at <= calls; ++at) {
    Disk disk(at);
    disk.files.set_plan(sim::crash_at(at));
    disk.files.ignore_syncs([](sim::Call, std::string_view) { return true; });
    Job job(disk, /*power_loss=*/true, at);
    const bool finished = job.run().ok();
    std::vector<std::string> found;
    for (const std::string& name : names(disk.files))
      found.push_back(*env::read_all(disk.files, "out/" + name));
    wrong += !finished || found.size() != Job::everything().size() ||
             std::any_of(found.begin(), found.end(), [](const auto& text) { return !text.ends_with('\n'); });
  }
  EXPECT_GT(wrong, 0);
}

}  // namespace
}  // namespace strand::connect::file
