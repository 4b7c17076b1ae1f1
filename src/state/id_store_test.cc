#include "state/id_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "env/real.h"
#include "state/id_section.h"
#include "state/spill/memory_spill.h"
#include "state/spill/rocks_spill.h"
#include "tests/support/memory_file_system.h"

namespace strand::state {
namespace {

using strand::testing::MemoryFileSystem;

constexpr KeyGroupRange kAll{0, 127};

uint16_t group_of(std::string_view key) { return static_cast<uint16_t>(hash64(key) >> 57); }

/// A store with a folder for its snapshots.
class Job {
 public:
  explicit Job(KeyGroupRange groups = kAll, uint64_t merged_max = IdStore::kMergedMax,
               SpillSpace* space = nullptr)
      : store_("dedup", groups, nullptr, space, merged_max) {}
  explicit Job(SpillSpace* space) : Job(kAll, IdStore::kMergedMax, space) {}

  bool fresh(std::string_view key, EventTime expiry = {1'000'000}) {
    const std::vector<std::string_view> keys = {key};
    const std::vector<uint16_t> groups = {group_of(key)};
    const std::vector<EventTime> expiries = {expiry};
    std::vector<uint8_t> fresh(1);
    EXPECT_TRUE(store_.insert({keys, groups, expiries}, {judge, {}}, fresh).ok());
    return fresh[0] == 1;
  }
  /// The sections of a snapshot whose files were written, and of which the store is told unless `lost`.
  std::vector<SectionRef> snapshot(MemoryFileSystem& files, int64_t epoch, bool lost = false) {
    SnapshotBuilder out(Epoch{epoch}, kAll);
    out.set_operator("dedup");
    store_.snapshot(out, judge);
    auto refs = out.write(files, "d");
    EXPECT_TRUE(refs.ok());
    if (!lost) store_.written(Epoch{epoch}, *refs);
    return *refs;
  }
  void restore(MemoryFileSystem& files, const std::vector<SectionRef>& refs) {
    SnapshotReader reader(files, "d");
    std::vector<Section> sections;
    for (const SectionRef& ref : refs) {
      auto section = reader.read(ref);
      ASSERT_TRUE(section.ok());
      sections.push_back(*section);
    }
    ASSERT_TRUE(store_.restore(sections, judge).ok());
  }
  IdStore& store() { return store_; }
  EventTime judge{0};

 private:
  IdStore store_;
};

uint64_t bytes_of(const std::vector<SectionRef>& refs, int64_t epoch) {
  uint64_t bytes = 0;
  for (const SectionRef& ref : refs) {
    if (ref.file.starts_with("e" + std::to_string(epoch) + "-")) bytes += ref.length;
  }
  return bytes;
}

TEST(IdStore, ASnapshotHoldsOnlyWhatIsNewAndRefersToTheRest) {
  MemoryFileSystem files;
  Job job;
  for (int i = 0; i < 1000; ++i) job.fresh("a-" + std::to_string(i));
  const auto first = job.snapshot(files, 1);
  job.fresh("b");
  const auto second = job.snapshot(files, 2);

  EXPECT_EQ(second.size(), 2u);
  EXPECT_LT(bytes_of(second, 2), 60u);

  Job restored;
  restored.restore(files, second);
  EXPECT_FALSE(restored.fresh("a-999"));
  EXPECT_FALSE(restored.fresh("b"));
  EXPECT_TRUE(restored.fresh("c"));
}

TEST(IdStore, NothingNewWritesNoFile) {
  MemoryFileSystem files;
  Job job;
  job.fresh("a");
  const auto first = job.snapshot(files, 1);
  EXPECT_EQ(job.snapshot(files, 2), first);
}

TEST(IdStore, IdsOfAFailedCheckpointAreInTheNextOne) {
  MemoryFileSystem files;
  Job job;
  job.fresh("a");
  job.snapshot(files, 1, /*lost=*/true);
  job.fresh("b");
  const auto second = job.snapshot(files, 2);

  Job restored;
  restored.restore(files, second);
  EXPECT_FALSE(restored.fresh("a"));
  EXPECT_FALSE(restored.fresh("b"));
}

TEST(IdStore, ASectionGoesWhenItsLastIdHasExpired) {
  MemoryFileSystem files;
  Job job;
  job.fresh("a", {1000});
  job.snapshot(files, 1);
  job.fresh("b", {2000});
  job.snapshot(files, 2);
  job.judge = {999};
  EXPECT_EQ(job.snapshot(files, 3).size(), 2u);
  job.judge = {1000};
  EXPECT_EQ(job.snapshot(files, 4).size(), 1u);
  job.judge = {2000};
  EXPECT_EQ(job.snapshot(files, 5).size(), 0u);
}

TEST(IdStore, TheNumberOfSectionsStaysBoundedAndNothingIsLost) {
  MemoryFileSystem files;
  Job job;
  std::vector<SectionRef> last;
  for (int epoch = 1; epoch <= 300; ++epoch) {
    for (int i = 0; i < 5; ++i) job.fresh("k-" + std::to_string(epoch) + "-" + std::to_string(i));
    last = job.snapshot(files, epoch);
    ASSERT_LE(last.size(), IdStore::kSectionsMax + 2) << epoch;
  }
  Job restored;
  restored.restore(files, last);
  for (int epoch = 1; epoch <= 300; ++epoch)
    EXPECT_FALSE(restored.fresh("k-" + std::to_string(epoch) + "-3"));
  EXPECT_EQ(restored.store().size(), 1500);
}

/// Bytes of all sections.
uint64_t bytes_of(const std::vector<SectionRef>& refs) {
  uint64_t bytes = 0;
  for (const SectionRef& ref : refs) bytes += ref.length;
  return bytes;
}

// Every increment is too large to be merged, and holds an id of a clock that is years ahead.
TEST(IdStore, IdsThatLiveLongDoNotKeepAllFilesAlsoWhereSectionsAreLarge) {
  constexpr uint64_t kMax = 20'000;
  MemoryFileSystem files;
  Job job(kAll, kMax);
  const EventTime far{1'000'000'000};
  std::vector<SectionRef> last;
  uint64_t most = 0;
  size_t sections = 0;
  for (int epoch = 1; epoch <= 400; ++epoch) {
    job.judge = {epoch * 1'000};
    const std::string name = "k-" + std::to_string(epoch) + "-";
    for (int i = 0; i < 1'000; ++i) job.fresh(name + std::to_string(i), {(epoch + 10) * 1'000});
    job.fresh(name + "far", far);
    last = job.snapshot(files, epoch);
    if (epoch == 200) most = bytes_of(last), sections = last.size();
  }
  EXPECT_LE(bytes_of(last), most + most / 2);
  EXPECT_LE(last.size(), sections + sections / 2);
  Job restored;
  restored.judge = job.judge;
  restored.restore(files, last);
  for (int epoch = 1; epoch <= 400; ++epoch)
    EXPECT_FALSE(restored.fresh("k-" + std::to_string(epoch) + "-far", far)) << epoch;
}

TEST(IdStore, ARestoreTakesItsOwnKeyGroupsFromAllSections) {
  MemoryFileSystem files;
  Job one;
  for (int i = 0; i < 500; ++i) one.fresh(std::to_string(i));
  const auto refs = one.snapshot(files, 1);

  Job left(KeyGroupRange{0, 63});
  Job right(KeyGroupRange{64, 127});
  left.restore(files, refs);
  right.restore(files, refs);
  EXPECT_EQ(left.store().size() + right.store().size(), 500);
  auto both = left.snapshot(files, 2);
  const auto more = right.snapshot(files, 2);
  both.insert(both.end(), more.begin(), more.end());

  Job again;
  again.restore(files, both);
  EXPECT_EQ(again.store().size(), 500);
  for (int i = 0; i < 500; ++i) EXPECT_FALSE(again.fresh(std::to_string(i)));
}

TEST(IdStore, ADamagedSectionIsRefused) {
  Job job;
  Section section;
  section.file_bytes = std::make_shared<const std::string>("short");
  section.ref.length = 5;
  section.ref.version = kIdSectionVersion;
  const Status status = job.store().restore({section}, {0});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.code(), ErrorCode::kCheckpointUnreadable);
}

TEST(IdStore, TheFirstSnapshotAfterLongWithoutOneHoldsEverythingThatHasNotExpired) {
  MemoryFileSystem files;
  Job job;
  for (int i = 0; i < 1'200'000; ++i) job.fresh("k" + std::to_string(i), {i < 600'000 ? 500 : 1'000'000});
  job.judge = {600};
  for (int i = 0; i < 900'000; ++i) job.fresh("m" + std::to_string(i));
  const auto refs = job.snapshot(files, 1);
  job.fresh("z");
  auto next = job.snapshot(files, 2);

  Job restored;
  restored.judge = {600};
  restored.restore(files, next);
  EXPECT_TRUE(restored.fresh("k1"));
  EXPECT_FALSE(restored.fresh("k700000"));
  EXPECT_FALSE(restored.fresh("m899999"));
  EXPECT_FALSE(restored.fresh("z"));
}

std::string some_key(uint64_t n) {
  if (n == 0) return "";
  return n % 2 == 0 ? "key number " + std::to_string(n) : uuid_text(mix64(n), mix64(~n));
}

/// Random histories with lost notices and crashes: the store answers as a map does.
void answers_as_a_map(Random random, int64_t steps, SpillSpace* space) {
  MemoryFileSystem files;
  auto job = std::make_unique<Job>(space);
  std::map<std::string, int64_t> model;
  std::map<std::string, int64_t> saved_model;
  std::vector<SectionRef> saved;
  EventTime saved_judge{0};
  for (int64_t step = 1; step < steps; ++step) {
    job->judge.millis += static_cast<int64_t>(random.below(4));
    const std::string key = some_key(random.below(400));
    const int64_t expiry = job->judge.millis + static_cast<int64_t>(random.below(200));
    const bool there = model.contains(key) && model[key] > job->judge.millis;
    ASSERT_EQ(job->fresh(key, {expiry}), !there) << key << " at step " << step;
    if (!there) model[key] = expiry;
    const uint64_t dice = random.below(20);
    if (dice < 6) {
      saved = job->snapshot(files, step, /*lost=*/dice < 2);
      saved_model = model;
      saved_judge = job->judge;
    } else if (dice == 6) {
      // Snapshots do not tell where the ids were, so either kind of store goes on from them.
      job = std::make_unique<Job>(random.below(4) == 0 ? nullptr : space);
      job->judge = saved_judge;
      job->restore(files, saved);
      model = saved_model;
    }
  }
}

RC_GTEST_PROP(IdStore, AnswersAsAMapThroughSnapshotsFailuresAndCrashes, ()) {
  answers_as_a_map(Random(*rc::gen::arbitrary<uint64_t>()), 600, nullptr);
}

RC_GTEST_PROP(IdStore, AnswersTheSameWithoutRoomInMemory, ()) {
  const auto space = make_memory_space(0);
  answers_as_a_map(Random(*rc::gen::arbitrary<uint64_t>()), 600, space.get());
}

// A share of a hundredth of the ids: what is in memory, what is on the disk, and snapshots hold them
// together.
TEST(IdStore, HoldsManyTimesItsShareOfMemory) {
  constexpr int kIds = 400'000;
  const auto space = make_memory_space(1 << 20);
  MemoryFileSystem files;
  Job job(space.get());
  const auto key = [](int n) { return some_key(static_cast<uint64_t>(n) + 1); };
  std::vector<SectionRef> refs;
  for (int i = 0; i < kIds; ++i) {
    ASSERT_TRUE(job.fresh(key(i)));
    if (i % 100'000 == 0) refs = job.snapshot(files, i / 100'000 + 1);
  }
  EXPECT_EQ(job.store().size(), kIds);
  EXPECT_LT(job.store().memory_bytes(), 3 << 20);
  for (int i = 0; i < kIds; i += 997) EXPECT_FALSE(job.fresh(key(i)));

  refs = job.snapshot(files, 5);
  Job in_memory;
  in_memory.restore(files, refs);
  Job on_disk(space.get());
  on_disk.restore(files, refs);
  EXPECT_LT(on_disk.store().memory_bytes(), 3 << 20);
  for (int i = 0; i < kIds; i += 997) {
    EXPECT_FALSE(in_memory.fresh(key(i)));
    EXPECT_FALSE(on_disk.fresh(key(i)));
  }
  EXPECT_TRUE(on_disk.fresh(key(kIds)));
  // Files hold each id about once: what was spilled is not written again.
  EXPECT_LT(bytes_of(refs), static_cast<uint64_t>(kIds) * 36);
  EXPECT_LT(bytes_of(job.snapshot(files, 6), 6), 1000u);
}

TEST(IdStore, AnswersTheSameFromRocksDb) {
  env::PosixFileSystem disk;
  const std::string dir = ::testing::TempDir() + "id-store-rocksdb";
  {
    const auto space = make_rocks_space(disk, {dir, 64 << 20, 0, /*keep_nothing=*/true});
    ASSERT_TRUE(space.ok());
    answers_as_a_map(Random(7), 150, space->get());
  }
  ASSERT_TRUE(disk.remove_all(dir).ok());
}

}  // namespace
}  // namespace strand::state
