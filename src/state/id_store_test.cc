#include "state/id_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "base/random.h"
#include "state/id_section.h"
#include "tests/support/memory_file_system.h"

namespace strand::state {
namespace {

using strand::testing::MemoryFileSystem;

constexpr KeyGroupRange kAll{0, 127};

uint16_t group_of(std::string_view key) { return static_cast<uint16_t>(hash64(key) >> 57); }

/// A store with a folder for its snapshots.
class Job {
 public:
  explicit Job(KeyGroupRange groups = kAll, uint64_t merged_max = IdStore::kMergedMax)
      : store_("dedup", groups, nullptr, merged_max) {}

  bool fresh(std::string_view key, EventTime expiry = {1'000'000}) {
    const std::vector<std::string_view> keys = {key};
    const std::vector<uint16_t> groups = {group_of(key)};
    const std::vector<EventTime> expiries = {expiry};
    std::vector<uint8_t> fresh(1);
    store_.insert({keys, groups, expiries}, {judge, {}}, fresh);
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

// Random histories with lost notices and crashes: the store answers as a map does.
RC_GTEST_PROP(IdStore, AnswersAsAMapThroughSnapshotsFailuresAndCrashes, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  MemoryFileSystem files;
  auto job = std::make_unique<Job>();
  std::map<std::string, int64_t> model;
  std::map<std::string, int64_t> saved_model;
  std::vector<SectionRef> saved;
  EventTime saved_judge{0};
  for (int64_t step = 1; step < 600; ++step) {
    job->judge.millis += static_cast<int64_t>(random.below(4));
    const std::string key = "key number " + std::to_string(random.below(400));
    const int64_t expiry = job->judge.millis + static_cast<int64_t>(random.below(200));
    const bool there = model.contains(key) && model[key] > job->judge.millis;
    RC_ASSERT(job->fresh(key, {expiry}) == !there);
    if (!there) model[key] = expiry;
    const uint64_t dice = random.below(20);
    if (dice < 6) {
      saved = job->snapshot(files, step, /*lost=*/dice < 2);
      saved_model = model;
      saved_judge = job->judge;
    } else if (dice == 6) {
      job = std::make_unique<Job>();
      job->judge = saved_judge;
      job->restore(files, saved);
      model = saved_model;
    }
  }
}

}  // namespace
}  // namespace strand::state
