#include "state/spill/spill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rocksdb/env.h>
#include <sys/resource.h>

#include <filesystem>
#include <map>
#include <vector>

#include "base/random.h"
#include "env/real.h"
#include "state/spill/memory_spill.h"
#include "state/spill/rocks_blocks.h"
#include "state/spill/rocks_spill.h"

namespace strand::state {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Entries = std::map<std::string, std::string>;

/// A space of either kind on a folder of its own.
class SpillSpaces : public ::testing::TestWithParam<std::string> {
 protected:
  SpillSpaces() { space_ = make(); }
  ~SpillSpaces() override {
    space_.reset();
    std::filesystem::remove_all(dir_);
  }
  std::unique_ptr<SpillSpace> make(int64_t disk_limit = 0) {
    if (GetParam() == "memory") return make_memory_space(1 << 20);
    auto made = make_rocks_space(files_, {dir_, 64 << 20, disk_limit});
    EXPECT_TRUE(made.ok());
    return *std::move(made);
  }
  std::shared_ptr<SpillStore> open(SpillUse use = {.lookups = true}) {
    auto store = space_->open(std::move(use));
    EXPECT_TRUE(store.ok());
    return *store;
  }

  env::PosixFileSystem files_;
  const std::string dir_ =
      ::testing::TempDir() + "spill-" + ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::unique_ptr<SpillSpace> space_;
};

Status put(SpillStore& store, const Entries& entries) {
  return store.put([at = entries.begin(), &entries](std::string_view& key, std::string_view& value) mutable {
    if (at == entries.end()) return false;
    key = at->first;
    value = at->second;
    ++at;
    return true;
  });
}

Entries got(const SpillStore& store, const std::vector<std::string_view>& keys) {
  Entries entries;
  EXPECT_TRUE(
      store.get(keys, [&](size_t i, std::string_view value) { entries.emplace(keys[i], value); }).ok());
  return entries;
}

std::vector<std::string> scanned(const SpillStore& store, std::string_view prefix) {
  std::vector<std::string> entries;
  EXPECT_TRUE(store
                  .scan(prefix,
                        [&](std::string_view key, std::string_view value) {
                          entries.push_back(std::string(key) + "=" + std::string(value));
                          return Status();
                        })
                  .ok());
  return entries;
}

TEST_P(SpillSpaces, ShowEntriesAsTheyWereToAView) {
  const auto store = open();
  ASSERT_TRUE(put(*store, {{"a", "1"}, {"b", "1"}, {"c", "1"}, {"d", "1"}}).ok());
  const auto view = store->view();
  ASSERT_TRUE(put(*store, {{"b", "2"}, {"bb", "2"}}).ok());
  ASSERT_TRUE(store->drop("c").ok());

  std::vector<std::string> seen;
  const auto see = [&](std::string_view key, std::string_view value) {
    seen.push_back(std::string(key) + "=" + std::string(value));
    return Status();
  };
  ASSERT_TRUE(view->scan("b", "d", see).ok());
  EXPECT_THAT(seen, ElementsAre("b=1", "c=1"));
  ASSERT_TRUE(view->scan("d", "", see).ok());
  EXPECT_EQ(seen.back(), "d=1");
}

TEST_P(SpillSpaces, GiveBackWhatWasPut) {
  const auto store = open();
  ASSERT_TRUE(put(*store, {{"a", "1"}, {"c", "3"}}).ok());
  ASSERT_TRUE(put(*store, {{"b", "2"}}).ok());
  EXPECT_EQ(got(*store, {"a", "b", "x", "c"}), (Entries{{"a", "1"}, {"b", "2"}, {"c", "3"}}));
}

TEST_P(SpillSpaces, TheNewestOfAKeyIsThere) {
  const auto store = open();
  ASSERT_TRUE(put(*store, {{"a", "1"}}).ok());
  ASSERT_TRUE(put(*store, {{"a", "2"}}).ok());
  EXPECT_EQ(got(*store, {"a"}), (Entries{{"a", "2"}}));
  EXPECT_THAT(scanned(*store, ""), ElementsAre("a=2"));
}

TEST_P(SpillSpaces, APrefixIsScannedInOrderAndDroppedWhole) {
  const auto store = open();
  ASSERT_TRUE(put(*store, {{"a1", "x"}, {"b1", "y"}, {"b2", "z"}, {"c1", "w"}}).ok());
  ASSERT_TRUE(put(*store, {{std::string("b\xFF", 2), "last"}}).ok());
  EXPECT_THAT(scanned(*store, "b"), ElementsAre("b1=y", "b2=z", "b\xFF=last"));
  ASSERT_TRUE(store->drop("b").ok());
  EXPECT_THAT(scanned(*store, "b"), IsEmpty());
  EXPECT_THAT(scanned(*store, ""), ElementsAre("a1=x", "c1=w"));
  ASSERT_TRUE(put(*store, {{"b1", "new"}}).ok());
  EXPECT_THAT(scanned(*store, "b"), ElementsAre("b1=new"));
}

TEST_P(SpillSpaces, ManyRunsAreMergedAndStillSayTheSame) {
  const auto store = open({.lookups = true, .useless = [](std::string_view, std::string_view value) {
                             return value == "useless";
                           }});
  for (int run = 0; run < 100; ++run) {
    ASSERT_TRUE(
        put(*store, {{"a", std::to_string(run)}, {"run" + std::to_string(run), "useless"}, {"z", "z"}}).ok());
  }
  EXPECT_EQ(got(*store, {"a", "z"}), (Entries{{"a", "99"}, {"z", "z"}}));
}

TEST_P(SpillSpaces, AnErrorOfTheReaderEndsAScan) {
  const auto store = open();
  ASSERT_TRUE(put(*store, {{"a", "1"}, {"b", "2"}}).ok());
  int calls = 0;
  const Status status = store->scan("", [&](std::string_view, std::string_view) {
    ++calls;
    return Status(ErrorCode::kIo, "enough");
  });
  EXPECT_FALSE(status.ok());
  EXPECT_EQ(calls, 1);
}

TEST_P(SpillSpaces, BlocksAreReadAnywhereAndTheirRoomIsGivenBack) {
  auto blocks = space_->open_blocks();
  ASSERT_TRUE(blocks.ok());
  const int64_t before = space_->disk().state;
  auto first = (*blocks)->put("first block");
  auto second = (*blocks)->put(std::string(5000, 'x') + "end");
  ASSERT_TRUE(first.ok() && second.ok());
  EXPECT_EQ(space_->disk().state, before + 11 + 5003);
  std::string bytes(5, ' ');
  ASSERT_TRUE((*first)->read(6, 5, bytes.data()).ok());
  EXPECT_EQ(bytes, "block");
  ASSERT_TRUE((*second)->read(4998, 5, bytes.data()).ok());
  EXPECT_EQ(bytes, "xxend");
  blocks->reset();
  ASSERT_TRUE((*first)->read(0, 5, bytes.data()).ok()) << "a block outlives the log that it came from";
  EXPECT_EQ(bytes, "first");
  first = second = std::shared_ptr<const SpillBlock>();
  EXPECT_EQ(space_->disk().state, before);
}

TEST_P(SpillSpaces, TablesShareTheMemoryEqually) {
  const int64_t all = space_->share();
  space_->join();
  EXPECT_EQ(space_->share(), all);
  space_->join();
  EXPECT_EQ(space_->share(), all / 2);
  space_->leave();
  EXPECT_EQ(space_->share(), all);
}

INSTANTIATE_TEST_SUITE_P(Spill, SpillSpaces, ::testing::Values("memory", "rocksdb"),
                         [](const auto& param) { return param.param; });

/// RocksDB alone: what a disk does.
class RocksSpaces : public SpillSpaces {};
INSTANTIATE_TEST_SUITE_P(Spill, RocksSpaces, ::testing::Values("rocksdb"),
                         [](const auto& param) { return param.param; });

// The promise of STRAND-5001: what could not be put is told, and what was there before still is.
TEST_P(RocksSpaces, AFullDiskIsToldAndLosesNothing) {
  space_ = make(/*disk_limit=*/200'000);
  const auto store = open();
  ASSERT_TRUE(put(*store, {{"a", "1"}}).ok());
  Entries large;
  for (int i = 0; i < 1000; ++i) large["key" + std::to_string(i)] = std::string(1000, 'x');
  const Status full = put(*store, large);
  ASSERT_FALSE(full.ok());
  EXPECT_EQ(full.code(), ErrorCode::kDiskFull);
  EXPECT_THAT(full.to_string(), HasSubstr("state.backend.rocksdb.localdir"));
  EXPECT_EQ(got(*store, {"a", "key1"}), (Entries{{"a", "1"}}));
  EXPECT_EQ(space_->disk().staging, 0);
  EXPECT_TRUE(put(*store, {{"b", "2"}}).ok());
}

TEST_P(RocksSpaces, ABlockWithoutRoomIsToldAndTheOthersStay) {
  space_ = make(/*disk_limit=*/200'000);
  auto blocks = space_->open_blocks();
  ASSERT_TRUE(blocks.ok());
  const auto first = (*blocks)->put(std::string(150'000, 'a'));
  ASSERT_TRUE(first.ok());
  EXPECT_EQ((*blocks)->put(std::string(100'000, 'b')).status().code(), ErrorCode::kDiskFull);
  const auto third = (*blocks)->put(std::string(40'000, 'c'));
  ASSERT_TRUE(third.ok());
  std::string bytes(2, ' ');
  ASSERT_TRUE((*first)->read(149'998, 2, bytes.data()).ok());
  ASSERT_TRUE((*third)->read(39'999, 1, bytes.data()).ok());
  EXPECT_EQ(bytes, "ca");
}

TEST_P(RocksSpaces, TheDiskIsAccountedAndGivenBack) {
  const auto store = open({});
  Entries entries;
  Random random(1);
  for (int i = 0; i < 1000; ++i) {
    std::string& value = entries["a" + std::to_string(i)];
    while (value.size() < 1100) value += static_cast<char>(random.below(256));  // nothing to compress
  }
  const int64_t before = space_->disk().state;
  ASSERT_TRUE(put(*store, entries).ok());
  EXPECT_GT(space_->disk().state, before + 1'000'000);
  EXPECT_EQ(space_->disk().staging, 0);
  ASSERT_TRUE(store->drop("a").ok());
  EXPECT_LT(space_->disk().state, before + 100'000);
}

TEST_P(RocksSpaces, AFolderGoesWithItsSpaceAndThoseOfDeadProcessesWithTheNext) {
  ASSERT_TRUE(files_.make_dirs(dir_ + "/p1-7/1").ok());
  space_ = make();
  EXPECT_FALSE(std::filesystem::exists(dir_ + "/p1-7"));
  auto store = open();
  space_.reset();
  EXPECT_TRUE(put(*store, {{"a", "1"}}).ok()) << "a store outlives its space";
  store.reset();
  EXPECT_TRUE(std::filesystem::is_empty(dir_));
}

/// The soft limit of open files, which comes back.
class OpenFilesLimit {
 public:
  OpenFilesLimit() { EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0); }
  ~OpenFilesLimit() { set(before_.rlim_cur); }
  OpenFilesLimit(const OpenFilesLimit&) = delete;
  OpenFilesLimit& operator=(const OpenFilesLimit&) = delete;
  void set(rlim_t files) {
    const rlimit limit{files, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  bool is_highest() const {
    rlimit now{};
    return getrlimit(RLIMIT_NOFILE, &now) == 0 && now.rlim_cur == now.rlim_max;
  }

 private:
  rlimit before_{};
};

TEST_P(RocksSpaces, ASpaceMayOpenAsManyFilesAsTheSystemAllows) {
  OpenFilesLimit limit;
  limit.set(256);
  space_ = make();
  EXPECT_TRUE(limit.is_highest());
}

TEST_P(RocksSpaces, TooManyOpenFilesAreToldAsSuch) {
  OpenFilesLimit limit;
  auto blocks = space_->open_blocks();
  ASSERT_TRUE(blocks.ok());
  limit.set(0);
  const Status refused = (*blocks)->put("x").status();
  EXPECT_EQ(refused.code(), ErrorCode::kIo);
  EXPECT_THAT(refused.to_string(), HasSubstr("ulimit -Hn"));
}

int64_t open_files_in(const std::string& dir) {
  int64_t files = 0;
  for (const auto& each : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code gone;
    if (std::filesystem::read_symlink(each, gone).string().starts_with(dir + "/")) ++files;
  }
  return files;
}

TEST_P(RocksSpaces, ALongLogIsInFewLargeFilesEachOpenOnce) {
  constexpr int64_t kFileBytes = 16 << 10;
  auto ground = std::make_shared<RocksGround>(files_, dir_ + "/log");
  ASSERT_TRUE(files_.make_dirs(ground->dir).ok());
  ground->files = std::make_shared<RocksFiles>(ground->staging(), /*limit=*/0);
  ground->env = rocksdb::NewCompositeEnv(ground->files);
  auto blocks = make_rocks_blocks(ground, "rows", kFileBytes);
  ASSERT_TRUE(blocks.ok());
  std::vector<std::shared_ptr<const SpillBlock>> kept;
  const std::string bytes(4096, 'x');
  for (int block = 0; block < 4000; ++block) {
    auto put = (*blocks)->put(bytes);
    ASSERT_TRUE(put.ok());
    kept.push_back(*std::move(put));
  }
  const std::filesystem::directory_iterator all(ground->dir);
  const int64_t files = std::distance(begin(all), end(all));
  EXPECT_LT(files, 4000 * 4096 / kFileBytes / 10);
  EXPECT_LE(open_files_in(ground->dir), files + 1);
  blocks->reset();
  kept.erase(kept.begin() + 100, kept.end());
  EXPECT_LT(ground->files->disk().state, 120 * 4096) << "each file goes with its last block";
  std::string read(4096, ' ');
  for (const auto& block : kept) ASSERT_TRUE(block->read(0, read.size(), read.data()).ok());
  EXPECT_EQ(read, bytes);
}

}  // namespace
}  // namespace strand::state
