#include "env/real.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>

namespace strand::env {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

template <class T>
Status status_of(const Result<T>& result) {
  return result.ok() ? Status() : result.status();
}

class PosixFiles : public ::testing::Test {
 protected:
  PosixFiles() {
    std::string pattern = ::testing::TempDir() + "strand-env-XXXXXX";
    dir_ = ::mkdtemp(pattern.data());
  }
  ~PosixFiles() override { EXPECT_TRUE(files_.remove_all(dir_).ok()); }
  std::string at(const std::string& name) const { return dir_ + "/" + name; }
  Status put(const std::string& name, std::string_view bytes) {
    return write_atomically(files_, dir_, name, bytes);
  }
  std::vector<std::string> names() {
    std::vector<std::string> found;
    const auto infos = files_.list(dir_);
    EXPECT_TRUE(infos.ok());
    for (const FileInfo& info : *infos) found.push_back(info.name);
    return found;
  }

  PosixFileSystem files_;
  std::string dir_;
};

TEST_F(PosixFiles, WhatWasWrittenIsReadBack) {
  const std::string bytes("with\0zero and \xff", 15);
  ASSERT_TRUE(put("f", bytes).ok());
  const auto back = read_all(files_, at("f"));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, bytes);
  EXPECT_THAT(names(), ElementsAre("f")) << "no temporary file stays";
}

TEST_F(PosixFiles, WriteAtomicallyReplaces) {
  ASSERT_TRUE(put("f", "the old, longer content").ok());
  ASSERT_TRUE(put("f", "new").ok());
  EXPECT_EQ(*read_all(files_, at("f")), "new");
}

TEST_F(PosixFiles, ReadAllRefusesMoreThanItsLimit) {
  ASSERT_TRUE(put("f", "12345").ok());
  EXPECT_TRUE(read_all(files_, at("f"), 5).ok());
  const Status refused = status_of(read_all(files_, at("f"), 4));
  EXPECT_EQ(refused.code(), ErrorCode::kIo);
  EXPECT_THAT(refused.message(), HasSubstr("at most 4 bytes, found a file of 5"));
}

TEST_F(PosixFiles, ReadersSeeWhatWritersAppendMeanwhile) {
  const auto out = *files_.open_append(at("f"));
  const auto in = *files_.open_read(at("f"));
  ASSERT_TRUE(out->append("one").ok());
  char into[8];
  EXPECT_EQ(*in->read_at(0, into, 8), 3u);
  ASSERT_TRUE(out->append("two").ok());
  EXPECT_EQ(*in->read_at(3, into, 8), 3u);
  EXPECT_EQ(std::string_view(into, 3), "two");
  EXPECT_EQ(*in->size(), 6u);
  EXPECT_EQ(*in->read_at(6, into, 8), 0u);
}

TEST_F(PosixFiles, CreateEmptiesAndOpenAppendKeeps) {
  ASSERT_TRUE(put("f", "old").ok());
  ASSERT_TRUE((*files_.open_append(at("f")))->append("+more").ok());
  EXPECT_EQ(*read_all(files_, at("f")), "old+more");
  ASSERT_TRUE((*files_.create(at("f")))->append("new").ok());
  EXPECT_EQ(*read_all(files_, at("f")), "new");
}

TEST_F(PosixFiles, ListsSortedWithSizesAndKinds) {
  ASSERT_TRUE(put("b", "22").ok());
  ASSERT_TRUE(put("a", "1").ok());
  ASSERT_TRUE(files_.make_dirs(at("c/d/e")).ok());
  const auto found = *files_.list(dir_);
  EXPECT_THAT(names(), ElementsAre("a", "b", "c"));
  EXPECT_EQ(found[1].size, 2u);
  EXPECT_TRUE(found[2].is_dir);
  EXPECT_TRUE((*files_.stat(at("c/d/e"))).is_dir);
  EXPECT_EQ((*files_.stat(at("b"))).name, "b");
}

TEST_F(PosixFiles, MissingThingsAreNotFoundAndNamed) {
  for (const Status& status : {status_of(files_.open_read(at("no"))), status_of(files_.list(at("no"))),
                               status_of(files_.stat(at("no"))), files_.remove(at("no"))}) {
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.code(), ErrorCode::kFileNotFound);
    EXPECT_EQ(status.where(), at("no"));
    EXPECT_NE(status.hint(), "");
  }
  EXPECT_TRUE(files_.remove_all(at("no")).ok());
}

TEST_F(PosixFiles, AFileWhereAFolderIsNeededIsNamed) {
  ASSERT_TRUE(put("f", "").ok());
  const Status refused = files_.make_dirs(at("f/below"));
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.hint(), HasSubstr("a file where a folder is needed"));
}

// /dev/full takes every write and answers that there is no space.
TEST_F(PosixFiles, AFullDiskHasItsOwnNumberAndTheFileIsGivenUp) {
  const auto file = *files_.open_append("/dev/full");
  const Status full = file->append("x");
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.code(), ErrorCode::kDiskFull);
  EXPECT_EQ(full.where(), "/dev/full");
  EXPECT_THAT(full.hint(), HasSubstr("free some space"));
  const Status again = file->sync();
  ASSERT_FALSE(again.ok()) << "a sync after a failed write would prove nothing";
  EXPECT_EQ(again.code(), ErrorCode::kIo);
}

TEST_F(PosixFiles, AFolderWithoutPermissionSaysWhatToDo) {
  ASSERT_EQ(::chmod(dir_.c_str(), 0555), 0);
  const uid_t me = ::geteuid();
  constexpr uid_t kNobody = 65'534;
  ASSERT_TRUE(me != 0 || ::seteuid(kNobody) == 0);  // permissions do not bind root
  const Status refused = put("f", "x");
  ASSERT_TRUE(me != 0 || ::seteuid(me) == 0);
  ASSERT_EQ(::chmod(dir_.c_str(), 0755), 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.hint(), HasSubstr("give the user that runs this process access"));
}

TEST_F(PosixFiles, ASecondLockIsRefusedWithTheOwnersText) {
  auto first = files_.lock(at("lock"), "pid 42, job ad-clicks\n");
  ASSERT_TRUE(first.ok());
  const Status refused = status_of(files_.lock(at("lock"), "pid 43"));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), ErrorCode::kStateInUse);
  EXPECT_THAT(refused.message(), HasSubstr("held by pid 42, job ad-clicks"));
  (*first).reset();
  EXPECT_TRUE(files_.lock(at("lock"), "pid 43").ok());
}

TEST_F(PosixFiles, TheLockGoesWithTheProcessHoweverItDies) {
  const pid_t child = ::fork();
  if (child == 0) {
    const auto held = files_.lock(at("lock"), "child");
    ::raise(held.ok() ? SIGKILL : SIGUSR1);
  }
  int how = 0;
  ASSERT_EQ(::waitpid(child, &how, 0), child);
  ASSERT_EQ(WTERMSIG(how), SIGKILL);
  EXPECT_TRUE(files_.lock(at("lock"), "parent").ok());
}

TEST_F(PosixFiles, DescriptorsAreNotInherited) {
  const auto held = *files_.open_append(at("f"));
  int seen = 0;
  int inherited = 0;
  for (int fd = 3; fd < 64; ++fd) {
    const int flags = ::fcntl(fd, F_GETFD);
    char target[512] = "";
    const std::string link = "/proc/self/fd/" + std::to_string(fd);
    if (flags < 0 || ::readlink(link.c_str(), target, sizeof target - 1) < 0 || at("f") != target) continue;
    ++seen;
    inherited += (flags & FD_CLOEXEC) == 0 ? 1 : 0;
  }
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(inherited, 0);
}

TEST(RealClock, SteadyTimeDoesNotGoBack) {
  RealClock clock;
  int64_t last = clock.steady_nanos();
  for (int i = 0; i < 1000; ++i) {
    const int64_t now = clock.steady_nanos();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(clock.now().millis, 1'700'000'000'000);
}

TEST(ThreadExecutor, WorksOfOneLaneRunInOrderAndNeverTwoAtATime) {
  constexpr uint64_t kLanes = 7;
  constexpr int kWorks = 300;
  std::vector<std::vector<int>> order(kLanes);
  std::vector<std::atomic<int>> inside(kLanes);
  std::atomic<bool> overlapped = false;
  {
    ThreadExecutor executor(3);
    for (int i = 0; i < kWorks; ++i) {
      for (uint64_t lane = 0; lane < kLanes; ++lane) {
        executor.submit(lane, [&, i, lane] {
          if (inside[lane].fetch_add(1) != 0) overlapped = true;
          order[lane].push_back(i);
          inside[lane].fetch_sub(1);
        });
      }
    }
  }
  EXPECT_FALSE(overlapped);
  std::vector<int> expected(kWorks);
  for (int i = 0; i < kWorks; ++i) expected[static_cast<size_t>(i)] = i;
  for (const auto& lane : order) EXPECT_EQ(lane, expected);
}

TEST(ThreadExecutor, TheDestructorRunsAlsoWhatWorksSubmitWhileItWaits) {
  std::atomic<int> ran = 0;
  {
    ThreadExecutor executor(2);
    executor.submit(1, [&] {
      ++ran;
      executor.submit(1, [&] {
        ++ran;
        executor.submit(2, [&] { ++ran; });
      });
    });
  }
  EXPECT_EQ(ran, 3);
}

TEST(ThreadExecutor, DrainWaitsForEverythingThatWorksSubmitAndTheExecutorGoesOn) {
  std::atomic<int> ran{0};
  ThreadExecutor executor(2);
  for (int round = 1; round <= 50; ++round) {
    executor.submit(1, [&] {
      executor.submit(2, [&] {
        executor.submit(1, [&] { ++ran; });
        ++ran;
      });
      ++ran;
    });
    executor.drain();
    EXPECT_EQ(ran, 3 * round);
  }
  executor.drain();
}

TEST(RealEnv, GivesItsThreeParts) {
  RealEnv real;
  const Env env = real.env();
  EXPECT_EQ(env.clock, &real.clock);
  EXPECT_EQ(env.files, &real.files);
  EXPECT_EQ(env.executor, &real.executor);
}

}  // namespace
}  // namespace strand::env
