#include "checkpoint/store.h"

#include <gmock/gmock.h>

#include "env/fresh_file.h"
#include "sim/env/env.h"

namespace strand::checkpoint {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

template <class T>
Status status_of(const Result<T>& result) {
  return result.ok() ? Status() : result.status();
}

TEST(IsVoid, WhenALaterAttemptWentBackFurther) {
  const std::vector<AttemptRecord> attempts = {
      {{1}, {1}, std::nullopt, {0}, true}, {{1}, {2}, Epoch{5}, {7}, true}, {{2}, {1}, Epoch{4}, {9}, true}};
  EXPECT_TRUE(is_void({6}, {1}, {1}, attempts)) << "attempt 2 restored 5";
  EXPECT_TRUE(is_void({5}, {1}, {1}, attempts)) << "generation 2 restored 4";
  EXPECT_FALSE(is_void({4}, {1}, {1}, attempts));
  EXPECT_TRUE(is_void({8}, {1}, {2}, attempts));
  EXPECT_FALSE(is_void({9}, {2}, {1}, attempts)) << "made by the last attempt";
  EXPECT_TRUE(is_void({1}, {1}, {0}, {{{1}, {1}, std::nullopt, {3}, true}}))
      << "an attempt that started anew";
}

class StoreTest : public ::testing::Test {
 protected:
  Store reopen(const std::string& job = "ad-clicks") {
    auto opened = Store::open(sim_.files, "/job/checkpoints", "/job/savepoints", job);
    EXPECT_TRUE(opened.ok()) << status_of(opened).to_string();
    return *std::move(opened);
  }
  static void start(Store& store, int64_t attempt, std::optional<Epoch> restored, bool swept = true) {
    ASSERT_TRUE(store.record_attempt({{1}, {attempt}, restored, store.highest_used(), swept}).ok());
  }
  Manifest taken(Store& store, int64_t epoch, int64_t attempt = 1,
                 SnapshotKind kind = SnapshotKind::kCheckpoint) {
    EXPECT_TRUE(Epoch{epoch} <= store.highest_used() || store.record_used({epoch}).ok());
    state::SnapshotBuilder builder({epoch}, {0, 127});
    builder.set_operator("op");
    builder.add("state", 1, "state of epoch " + std::to_string(epoch));
    Manifest manifest;
    manifest.job = "ad-clicks";
    manifest.kind = kind;
    manifest.epoch = {epoch};
    manifest.generation = {1};
    manifest.attempt = {attempt};
    manifest.taken = {epoch * 1000};
    OperatorPart part;
    part.sections = *builder.write(sim_.files, store.files_dir());
    manifest.operators["op"] = {part};
    return manifest;
  }
  std::string complete(Store& store, int64_t epoch, int64_t attempt = 1,
                       SnapshotKind kind = SnapshotKind::kCheckpoint) {
    return *store.complete(taken(store, epoch, attempt, kind));
  }
  static std::vector<int64_t> epochs(const Store& store) {
    std::vector<int64_t> found;
    const auto listed = store.list();
    EXPECT_TRUE(listed.ok());
    for (const SnapshotInfo& info : *listed) found.push_back(info.epoch.value * (info.is_void ? -1 : 1));
    return found;
  }
  std::vector<std::string> files_of(int64_t epoch) {
    std::vector<std::string> names;
    const std::vector<env::FileInfo> found = *sim_.files.list("/job/checkpoints/files");
    for (const auto& file : found) {
      if (file.name.starts_with("e" + std::to_string(epoch) + "-")) names.push_back(file.name);
    }
    return names;
  }
  void overwrite(const std::string& path, const std::string& bytes) {
    ASSERT_TRUE((*sim_.files.create(path))->append(bytes).ok());
  }
  std::string content(const std::string& path) { return *env::read_all(sim_.files, path); }

  sim::SimEnv sim_{1, WallTime{0}};
};

// Without it the job would start anew in silence, beside what its sinks hold.
TEST_F(StoreTest, AStartIsRefusedWhereTheSnapshotThatTheJobWentOnFromIsGone) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  const std::string path = complete(store, 1);
  ASSERT_TRUE(sim_.files.remove(path).ok());
  EXPECT_EQ(*reopen().latest(), std::nullopt) << "no attempt says that it was complete";
  const std::string second = complete(store, 2);
  start(store, 2, Epoch{2});
  EXPECT_TRUE(reopen().latest().ok());
  ASSERT_TRUE(sim_.files.remove(second).ok());
  const Status refused = status_of(reopen().latest());
  EXPECT_EQ(refused.code(), ErrorCode::kCheckpointUnreadable);
  EXPECT_THAT(refused.to_string(), AllOf(HasSubstr("the snapshot of epoch 2"), HasSubstr("--from none")));
  start(store, 3, std::nullopt);
  EXPECT_TRUE(reopen().latest().ok()) << "started anew by hand";
}

TEST_F(StoreTest, WhatIsNotOfTheStoreIsLeftAlone) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1);
  ASSERT_TRUE(env::write_fresh(sim_.files, "/job/checkpoints/attempts/g1-a1.bak", "?").ok());
  ASSERT_TRUE(env::write_fresh(sim_.files, "/job/checkpoints/attempts/notes.txt", "?").ok());
  ASSERT_TRUE(sim_.files.make_dirs("/job/checkpoints/attempts/old").ok());
  ASSERT_TRUE(sim_.files.make_dirs("/job/checkpoints/manifests/m9-g1-a1").ok());
  EXPECT_THAT(epochs(reopen()), ElementsAre(1));
  EXPECT_TRUE(reopen().collect_garbage(1, {1}).ok());
}

TEST_F(StoreTest, ANewFolderHasNothing) {
  const Store store = reopen();
  EXPECT_EQ(store.highest_used(), Epoch{0});
  EXPECT_THAT(store.attempts(), IsEmpty());
  EXPECT_EQ(*store.latest(), std::nullopt);
}

TEST_F(StoreTest, WhatWasRecordedIsThereAfterReopening) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1);
  ASSERT_TRUE(store.record_used({2}).ok());
  const Store again = reopen();
  EXPECT_EQ(again.highest_used(), Epoch{2});
  EXPECT_EQ(again.attempts(), store.attempts());
  const auto latest = *again.latest();
  ASSERT_TRUE(latest.has_value());
  EXPECT_EQ(latest->epoch, Epoch{1});
  EXPECT_EQ(latest->taken, WallTime{1000});
  const auto manifest = again.load(latest->path);
  ASSERT_TRUE(manifest.ok());
  EXPECT_TRUE(again.verify(*manifest, latest->path).ok());
}

TEST_F(StoreTest, TheSweptMarkReplacesTheRecord) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  start(store, 2, Epoch{0}, /*swept=*/false);
  EXPECT_FALSE(reopen().attempts().back().swept);
  start(store, 2, Epoch{0}, /*swept=*/true);
  EXPECT_THAT(reopen().attempts(), ElementsAre(store.attempts()[0], store.attempts()[1]));
  EXPECT_TRUE(reopen().attempts().back().swept);
}

// A manifest of a dead attempt may land late, and after an older snapshot was chosen a crash must not jump
// back to the newer line.
TEST_F(StoreTest, TheNewestOnTheLineOfTheLastAttemptIsRestored) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1);
  complete(store, 2);
  const Manifest late = taken(store, 3);
  start(store, 2, Epoch{1});
  ASSERT_TRUE(store.complete(late).ok());
  EXPECT_THAT(epochs(store), ElementsAre(-3, -2, 1));
  EXPECT_EQ((*store.latest())->epoch, Epoch{1});
  complete(store, 4, /*attempt=*/2);
  EXPECT_EQ((*reopen().latest())->epoch, Epoch{4});
}

TEST_F(StoreTest, AVoidSnapshotIsRefusedAlsoByHandAndAnotherOffered) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1);
  const std::string second = complete(store, 2);
  start(store, 2, Epoch{1});
  const Status refused = status_of(store.load(second));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), ErrorCode::kVoidSnapshot);
  EXPECT_THAT(refused.hint(), HasSubstr("--from /job/checkpoints/manifests/m1-g1-a1"));
}

TEST_F(StoreTest, NumbersOfARestoredSavepointFromElsewhereAreUsedUp) {
  Store store = reopen();
  start(store, 1, Epoch{40});
  EXPECT_EQ(store.highest_used(), Epoch{40});
  EXPECT_EQ(reopen().highest_used(), Epoch{40});
}

// ---- damage

TEST_F(StoreTest, ADamagedManifestIsNamedAndTheOlderOneOffered) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1);
  const std::string second = complete(store, 2);
  std::string bytes = content(second);
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 1);
  for (const std::string& damaged : {bytes, content(second).substr(0, 100), std::string()}) {
    overwrite(second, damaged);
    for (const Status& refused : {status_of(store.load(second)), status_of(store.latest())}) {
      ASSERT_FALSE(refused.ok());
      EXPECT_EQ(refused.code(), ErrorCode::kCheckpointUnreadable);
      EXPECT_EQ(refused.where(), second);
      EXPECT_THAT(refused.hint(), AllOf(HasSubstr("older checkpoint 1 (1970-01-01T00:00:01.000Z)"),
                                        HasSubstr("--from /job/checkpoints/manifests/m1-g1-a1")));
    }
  }
}

// The name alone tells that it is void, or automatic restarts would stumble over it for ever.
TEST_F(StoreTest, ADamagedManifestIsVoidOnceAnOlderOneWasChosen) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1);
  overwrite(complete(store, 2), "rubbish");
  start(store, 2, Epoch{1});
  EXPECT_EQ((*store.latest())->epoch, Epoch{1});
}

TEST_F(StoreTest, DamagedShortAndMissingStateFilesAreNamed) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1);
  const std::string path = complete(store, 2);
  const Manifest manifest = *store.load(path);
  const std::string file = store.files_dir() + "/" + manifest.operators.at("op")[0].sections[0].file;
  const std::string whole = content(file);
  const auto expect_refused = [&] {
    const Status refused = store.verify(manifest, path);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.code(), ErrorCode::kCheckpointUnreadable);
    EXPECT_THAT(refused.to_string(), AllOf(HasSubstr(file), HasSubstr("m1-g1-a1")));
  };
  std::string flipped = whole;
  flipped.back() = static_cast<char>(flipped.back() ^ 1);
  overwrite(file, flipped);
  expect_refused();
  overwrite(file, whole.substr(0, whole.size() - 1));
  expect_refused();
  ASSERT_TRUE(sim_.files.remove(file).ok());
  expect_refused();
  overwrite(file, whole);
  EXPECT_TRUE(store.verify(manifest, path).ok());
}

TEST_F(StoreTest, WithoutTheEpochOrARecordTheFolderIsNotOpened) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  const auto expect_refused = [&](const std::string& path) {
    const Status refused =
        status_of(Store::open(sim_.files, "/job/checkpoints", "/job/savepoints", "ad-clicks"));
    ASSERT_FALSE(refused.ok()) << path;
    EXPECT_EQ(refused.code(), ErrorCode::kCheckpointUnreadable);
    EXPECT_EQ(refused.where(), path);
    EXPECT_THAT(refused.hint(), HasSubstr("backup"));
  };
  for (const std::string path : {"/job/checkpoints/epoch", "/job/checkpoints/attempts/g1-a1"}) {
    const std::string whole = content(path);
    overwrite(path, whole.substr(0, whole.size() / 2));
    expect_refused(path);
    overwrite(path, whole);
    reopen();
  }
  ASSERT_TRUE(sim_.files.remove("/job/checkpoints/epoch").ok());
  expect_refused("/job/checkpoints/epoch");
}

TEST_F(StoreTest, ASnapshotOfAnotherJobIsRefused) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  const std::string path = complete(store, 1);
  const Status refused = status_of(reopen("payments").load(path));
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.code(), ErrorCode::kStateMismatch);
  EXPECT_THAT(refused.message(), AllOf(HasSubstr("'payments'"), HasSubstr("'ad-clicks'")));
}

// ---- savepoints

TEST_F(StoreTest, ASavepointIsAFolderThatNeedsNothingElse) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  const std::string folder = complete(store, 1, 1, SnapshotKind::kSavepoint);
  EXPECT_THAT(folder, HasSubstr("/job/savepoints/savepoint-ad-clicks-e1-g1-a1-"));
  ASSERT_TRUE(sim_.files.remove_all("/job/checkpoints").ok());
  Store fresh = reopen();
  EXPECT_EQ(fresh.highest_used(), Epoch{1}) << "its number was used";
  const auto latest = *fresh.latest();
  ASSERT_TRUE(latest.has_value());
  EXPECT_EQ(latest->path, folder + "/manifest");
  const auto manifest = fresh.load(folder);
  ASSERT_TRUE(manifest.ok()) << "the folder names the savepoint as well as its manifest";
  EXPECT_TRUE(fresh.verify(*manifest, latest->path).ok());
}

TEST_F(StoreTest, AnAdoptedSavepointOutlivesItsFolder) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  const std::string folder = complete(store, 1, 1, SnapshotKind::kSavepoint);
  ASSERT_TRUE(sim_.files.remove_all("/job/checkpoints").ok());
  Store fresh = reopen();
  const auto adopted = fresh.adopt(folder);
  ASSERT_TRUE(adopted.ok()) << status_of(adopted).to_string();
  EXPECT_EQ(*fresh.adopt(*adopted), *adopted) << "once is enough";
  ASSERT_TRUE(sim_.files.remove_all("/job/savepoints").ok());
  EXPECT_THAT(epochs(fresh), ElementsAre(1));
  EXPECT_TRUE(fresh.verify(*fresh.load(*adopted), *adopted).ok());
}

TEST_F(StoreTest, TheJobDoesNotNeedTheFolderOfItsOwnSavepoint) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1, 1, SnapshotKind::kSavepoint);
  EXPECT_THAT(epochs(store), ElementsAre(1)) << "one snapshot, though it is there twice";
  ASSERT_TRUE(sim_.files.remove_all("/job/savepoints").ok());
  EXPECT_EQ((*store.latest())->epoch, Epoch{1});
}

TEST_F(StoreTest, SavepointsOfOtherJobsInTheSameFolderAreNotSeen) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1, 1, SnapshotKind::kSavepoint);
  auto other = Store::open(sim_.files, "/other/checkpoints", "/job/savepoints", "ad");
  ASSERT_TRUE(other.ok());
  EXPECT_EQ(*other->latest(), std::nullopt);
  EXPECT_EQ(other->highest_used(), Epoch{0});
}

// ---- garbage

TEST_F(StoreTest, TheNewestManifestsAndTheirFilesStay) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  for (int64_t epoch = 1; epoch <= 4; ++epoch) complete(store, epoch);
  ASSERT_TRUE(store.collect_garbage(2, {4}).ok());
  EXPECT_THAT(epochs(store), ElementsAre(4, 3));
  EXPECT_THAT(files_of(1), IsEmpty());
  EXPECT_THAT(files_of(2), IsEmpty());
  EXPECT_EQ(files_of(3).size(), 1u);
  EXPECT_EQ(files_of(4).size(), 1u);
}

TEST_F(StoreTest, FilesThatANewerManifestRefersToStay) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  const Manifest first = taken(store, 1);
  ASSERT_TRUE(store.complete(first).ok());
  Manifest second = taken(store, 2);
  second.operators["op"].push_back(first.operators.at("op")[0]);
  const std::string path = *store.complete(second);
  ASSERT_TRUE(store.collect_garbage(1, {2}).ok());
  EXPECT_THAT(epochs(store), ElementsAre(2));
  EXPECT_TRUE(store.verify(second, path).ok());
}

TEST_F(StoreTest, FilesOfTheEpochUnderWayStay) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 2);
  const Manifest under_way = taken(store, 3);
  ASSERT_TRUE(store.collect_garbage(1, {2}).ok());
  EXPECT_EQ(files_of(3).size(), 1u);
  EXPECT_TRUE(store.complete(under_way).ok());
}

TEST_F(StoreTest, LeftoversOfACrashedAttemptGo) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1);
  taken(store, 2);  // never completed
  overwrite(store.files_dir() + "/e2-half.tmp", "half");
  overwrite("/job/checkpoints/manifests/m2-g1-a1.tmp", "half");
  ASSERT_TRUE(sim_.files.make_dirs("/job/savepoints/savepoint-ad-clicks-e2-g1-a1-01234567").ok());
  ASSERT_TRUE(sim_.files.make_dirs("/job/savepoints/savepoint-other-e2-g1-a1-01234567").ok());
  Store again = reopen();
  start(again, 2, Epoch{1});
  complete(again, 3, 2);
  ASSERT_TRUE(again.collect_garbage(1, {3}).ok());
  EXPECT_THAT(files_of(2), IsEmpty());
  EXPECT_EQ(sim_.files.list("/job/checkpoints/manifests")->size(), 1u);
  const auto savepoints = *sim_.files.list("/job/savepoints");
  ASSERT_EQ(savepoints.size(), 1u);
  EXPECT_EQ(savepoints[0].name, "savepoint-other-e2-g1-a1-01234567");
}

// D: what a dead value hid is in the snapshot that was restored, until the second sweep is done.
TEST_F(StoreTest, ARestoredSnapshotStaysUntilItsSweepIsDone) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1);
  start(store, 2, Epoch{1}, /*swept=*/false);
  for (int64_t epoch = 2; epoch <= 4; ++epoch) complete(store, epoch, 2);
  ASSERT_TRUE(store.collect_garbage(1, {4}).ok());
  EXPECT_THAT(epochs(store), ElementsAre(4, 1));
  EXPECT_EQ(files_of(1).size(), 1u);
  start(store, 2, Epoch{1}, /*swept=*/true);
  ASSERT_TRUE(store.collect_garbage(1, {4}).ok());
  EXPECT_THAT(epochs(store), ElementsAre(4));
}

TEST_F(StoreTest, NoStateFileGoesWhileAManifestThatStaysCannotBeRead) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  complete(store, 1);
  const std::string second = complete(store, 2);
  const std::string whole = content(second);
  overwrite(second, "rubbish");
  complete(store, 3);
  EXPECT_EQ(store.collect_garbage(2, {3}).code(), ErrorCode::kCheckpointUnreadable);
  EXPECT_EQ(files_of(2).size(), 1u);
  overwrite(second, whole);
  EXPECT_TRUE(store.verify(*store.load(second), second).ok()) << "somebody has repaired it";
}

TEST_F(StoreTest, SavepointsAreTheUsersAndStay) {
  Store store = reopen();
  start(store, 1, std::nullopt);
  const std::string folder = complete(store, 1, 1, SnapshotKind::kSavepoint);
  complete(store, 2);
  ASSERT_TRUE(store.collect_garbage(1, {2}).ok());
  EXPECT_THAT(epochs(store), ElementsAre(2, 1));
  EXPECT_TRUE(store.verify(*store.load(folder), folder + "/manifest").ok());
}

}  // namespace
}  // namespace strand::checkpoint
