#include "engine/beside.h"

#include <gmock/gmock.h>
#include <stdlib.h>

#include "engine/last_end.h"
#include "env/real.h"

namespace strand::engine {
namespace {

using ::testing::HasSubstr;

/// The job `counts` has run once, as generation 4.
class Beside : public testing::Test {
 protected:
  Beside() {
    std::string pattern = ::testing::TempDir() + "strand-beside-XXXXXX";
    root_ = ::mkdtemp(pattern.data());
    run_once("counts", 4, 30);
  }
  ~Beside() override { EXPECT_TRUE(real_.files.remove_all(root_).ok()); }

  void run_once(const std::string& name, int64_t generation, int64_t highest) {
    auto store = checkpoint::Store::open(real_.files, job_folder(root_, name).checkpoints(),
                                         root_ + "/savepoints", "counts");
    ASSERT_TRUE(store.ok());
    ASSERT_TRUE(store->record_used(Epoch{highest}).ok());
    ASSERT_TRUE(store->record_attempt({Generation{generation}, Attempt{1}, {}, Epoch{0}, true}).ok());
  }
  Result<Version> start(bool from_savepoint, const std::string& elder = "counts") {
    return version_beside(real_.env(), root_, "counts", elder, from_savepoint);
  }

  env::RealEnv real_;
  std::string root_;
};

TEST_F(Beside, ANewVersionHasAHigherGenerationAndAFolderOfItsOwn) {
  const auto version = start(true);
  ASSERT_TRUE(version.ok()) << version.status().to_string();
  EXPECT_EQ(version->generation, Generation{5});
  EXPECT_EQ(version->name, "counts.g5");
  EXPECT_EQ(version->folder.root, root_ + "/counts.g5");
}

TEST_F(Beside, OneThatHasRunGoesOn) {
  ASSERT_TRUE(start(true).ok());
  run_once("counts.g5", 5, 31);
  for (const bool from_savepoint : {false, true}) {
    const auto again = start(from_savepoint);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(again->generation, Generation{5});
  }
}

TEST_F(Beside, AGenerationIsNeverGivenTwiceAlsoWhereItsFolderIsGone) {
  ASSERT_TRUE(start(true).ok());
  run_once("counts.g5", 5, 31);
  ASSERT_TRUE(real_.files.remove_all(root_ + "/counts.g5").ok());
  const auto next = start(true);
  ASSERT_TRUE(next.ok());
  EXPECT_EQ(next->generation, Generation{6});
}

TEST_F(Beside, AThirdVersionMayBeginBesideTheSecond) {
  ASSERT_TRUE(start(true).ok());
  run_once("counts.g5", 5, 31);
  const auto third = start(true, "counts.g5");
  ASSERT_TRUE(third.ok());
  EXPECT_EQ(third->generation, Generation{6});
}

TEST_F(Beside, ANewOneNeedsASavepointAndAnOlderOne) {
  EXPECT_EQ(start(false).status().code(), ErrorCode::kBadUsage);
  EXPECT_EQ(start(true, "other").status().code(), ErrorCode::kNoSuchJob);
}

TEST_F(Beside, TheOlderOneHasEndedWhenItSaysSo) {
  const auto version = start(true);
  ASSERT_TRUE(version.ok());
  EXPECT_EQ(version->elder()->highest_used, Epoch{30});
  EXPECT_FALSE(version->elder()->ended);
  JobEnd end;
  for (const auto& [kind, over] : {std::pair(JobEnd::Kind::kFailed, false),
                                   {JobEnd::Kind::kAbandoned, false},
                                   {JobEnd::Kind::kReadOnce, false},
                                   {JobEnd::Kind::kStopped, true},
                                   {JobEnd::Kind::kInputEnded, true}}) {
    end.kind = kind;
    const std::string run_dir = job_folder(root_, "counts").run();
    ASSERT_TRUE(write_last_end(real_.files, run_dir, last_end("counts", end, WallTime{0})).ok());
    EXPECT_EQ(version->elder()->ended, over);
    forget_last_end(real_.files, run_dir);
  }
  EXPECT_FALSE(version->elder()->ended) << "it runs again";
}

TEST_F(Beside, AnOlderOneWhoseFolderIsGoneHasNotEndedButIsMissing) {
  const auto version = start(true);
  ASSERT_TRUE(version.ok());
  ASSERT_TRUE(real_.files.remove_all(job_folder(root_, "counts").checkpoints()).ok());
  const auto gone = version->elder();
  EXPECT_EQ(gone.status().code(), ErrorCode::kFileNotFound);
  EXPECT_THAT(gone.status().to_string(), HasSubstr("/counts"));
}

TEST_F(Beside, ADamagedRecordIsRefusedByItsName) {
  ASSERT_TRUE(start(true).ok());
  ASSERT_TRUE(env::write_atomically(real_.files, root_ + "/counts", "versions", "{\"newest\": 1}").ok());
  const auto refused = start(true);
  EXPECT_EQ(refused.status().code(), ErrorCode::kCheckpointUnreadable);
  EXPECT_THAT(refused.status().to_string(), HasSubstr("/counts/versions"));
}

}  // namespace
}  // namespace strand::engine
