#include "state/logged_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>
#include <set>

#include "base/hash.h"
#include "base/random.h"
#include "env/real.h"
#include "state/spill/memory_spill.h"
#include "state/spill/rocks_spill.h"
#include "tests/support/memory_file_system.h"
#include "tests/support/watched_space.h"

namespace strand::state {
namespace {

using strand::testing::MemoryFileSystem;
using ::testing::HasSubstr;

constexpr KeyGroupRange kAll{0, 127};
constexpr KeyGroupRange kLow{0, 63};
constexpr KeyGroupRange kHigh{64, 127};

struct Counted {
  struct Head {
    int64_t count = 0;
  };
  Head head;
};

int32_t group_of(uint64_t hash) { return static_cast<int32_t>(hash >> 57); }

/// Rows by their text, with a folder for their snapshots.
class Job {
 public:
  explicit Job(KeyGroupRange groups = kAll, int32_t version = 1, SpillSpace* space = nullptr)
      : groups_(groups), rows_("rows", version) {
    EXPECT_TRUE(rows_.spill_to(space).ok());
  }

  /// Only rows of its own key groups.
  void put(const std::string& text, int64_t count) {
    if (!groups_.contains(group_of(hash64(text)))) return;
    const auto known = ids_.find(text);
    if (known == ids_.end()) {
      ids_[text] = rows_.add(hash64(text), {count}, text);
    } else {
      rows_[known->second].head.count = count;
      rows_.changed(known->second);
    }
  }
  void rewrite(const std::string& text) {
    if (ids_.contains(text)) rows_.replace(ids_[text], text);
  }
  void erase(const std::string& text) {
    const auto known = ids_.find(text);
    if (known == ids_.end()) return;
    rows_.erase(known->second);
    rows_.let_go();
    ids_.erase(known);
  }
  Status tidy() { return rows_.tidy(); }
  SnapshotBuilder start(int64_t epoch) {
    SnapshotBuilder out(Epoch{epoch}, groups_);
    out.set_operator("op");
    rows_.snapshot(out);
    return out;
  }
  std::vector<SectionRef> finish(SnapshotBuilder& out, MemoryFileSystem& files, bool lost = false) {
    auto refs = out.write(files, "d");
    EXPECT_TRUE(refs.ok());
    if (!lost) rows_.written(out.epoch(), *refs);
    return *refs;
  }
  std::vector<SectionRef> snapshot(MemoryFileSystem& files, int64_t epoch, bool lost = false) {
    SnapshotBuilder out = start(epoch);
    return finish(out, files, lost);
  }
  Status restore(MemoryFileSystem& files, const std::vector<SectionRef>& refs) {
    SnapshotReader reader(files, "d");
    std::vector<Section> sections;
    for (const SectionRef& ref : refs) {
      auto section = reader.read(ref);
      EXPECT_TRUE(section.ok());
      if (ref.groups.overlaps(groups_)) sections.push_back(*section);
    }
    STRAND_OK(
        rows_.restore(sections, groups_, [&](uint64_t hash) { return groups_.contains(group_of(hash)); }));
    rows_.for_each([&](uint32_t id) { ids_[std::string(rows_.body(id))] = id; });
    return Status();
  }
  std::map<std::string, int64_t> all() const {
    std::map<std::string, int64_t> all;
    rows_.for_each([&](uint32_t id) {
      EXPECT_EQ(rows_.hash(id), hash64(rows_.body(id)));
      all[std::string(rows_.body(id))] = rows_[id].head.count;
    });
    EXPECT_EQ(static_cast<int64_t>(all.size()), rows_.size());
    return all;
  }
  /// Whether each row is where it is said to be.
  bool are_known() const {
    return std::ranges::all_of(ids_, [&](const auto& row) { return rows_.body(row.second) == row.first; });
  }
  const LoggedRows<Counted>& rows() const { return rows_; }

 private:
  KeyGroupRange groups_;
  LoggedRows<Counted> rows_;
  std::map<std::string, uint32_t> ids_;
};

uint64_t bytes_of(const std::vector<SectionRef>& refs) {
  uint64_t bytes = 0;
  for (const SectionRef& ref : refs) bytes += ref.length;
  return bytes;
}
uint64_t written_in(const std::vector<SectionRef>& refs, int64_t epoch) {
  std::vector<SectionRef> own;
  for (const SectionRef& ref : refs) {
    if (ref.file.starts_with("e" + std::to_string(epoch) + "-")) own.push_back(ref);
  }
  return bytes_of(own);
}

TEST(LoggedRows, ASnapshotWritesWhatHasChangedAndRefersToTheRest) {
  MemoryFileSystem files;
  Job job;
  for (int i = 0; i < 1000; ++i) job.put("row " + std::to_string(i), i);
  const auto first = job.snapshot(files, 1);
  job.put("row 7", 70);
  job.erase("row 8");
  const auto second = job.snapshot(files, 2);
  ASSERT_EQ(second.size(), 2u);
  EXPECT_EQ(second[0], first[0]);
  EXPECT_LT(written_in(second, 2), 100u);
  EXPECT_EQ(job.snapshot(files, 3), second) << "nothing has changed";

  Job restored;
  ASSERT_TRUE(restored.restore(files, second).ok());
  EXPECT_EQ(restored.all(), job.all());
  restored.put("row 9", 90);
  EXPECT_LT(written_in(restored.snapshot(files, 4), 4), 100u) << "what it was restored from, it refers to";
}

TEST(LoggedRows, WhatALostSnapshotHoldsIsInTheNextOne) {
  MemoryFileSystem files;
  Job job;
  job.put("a", 1);
  job.snapshot(files, 1, /*lost=*/true);
  job.put("b", 2);
  const auto second = job.snapshot(files, 2);
  ASSERT_EQ(second.size(), 1u);
  Job restored;
  ASSERT_TRUE(restored.restore(files, second).ok());
  EXPECT_EQ(restored.all(), (std::map<std::string, int64_t>{{"a", 1}, {"b", 2}}));
}

TEST(LoggedRows, TheFilesHoldAboutTwiceWhatLivesHoweverOftenItChanges) {
  MemoryFileSystem files;
  Job job;
  const std::string text(200, 'x');
  std::vector<SectionRef> refs;
  for (int64_t epoch = 1; epoch <= 200; ++epoch) {
    for (int row = 0; row < 1000; ++row) {
      job.put(text + std::to_string(row), epoch);
      job.rewrite(text + std::to_string(row));
    }
    ASSERT_TRUE(job.tidy().ok());
    refs = job.snapshot(files, epoch);
  }
  EXPECT_LT(bytes_of(refs), 3 * 1000 * 240 + RowLog::kSlackBytes);
  EXPECT_LT(job.rows().memory_bytes(), int64_t{5} << 20);
  Job restored;
  ASSERT_TRUE(restored.restore(files, refs).ok());
  EXPECT_EQ(restored.all(), job.all());
}

// No row comes behind those that go, so they pay for the work themselves.
TEST(LoggedRows, WhereMostRowsGoTheirRoomIsGivenBackAtOnce) {
  const auto space = make_memory_space(256 << 10);
  for (SpillSpace* const used : {static_cast<SpillSpace*>(nullptr), space.get()}) {
    Job job(kAll, 1, used);
    const std::string text(1000, 'x');
    for (int row = 0; row < 10'000; ++row) {
      job.put(text + std::to_string(row), row);
      if (row % 100 != 0) continue;
      ASSERT_TRUE(job.tidy().ok());
    }
    ASSERT_TRUE(job.tidy().ok());
    for (int row = 0; row < 9'900; ++row) job.erase(text + std::to_string(row));
    ASSERT_TRUE(job.tidy().ok());
    EXPECT_LT(job.rows().memory_bytes(), int64_t{2} << 20);
    EXPECT_LT(space->disk().state, 1 << 20);
    EXPECT_TRUE(job.are_known());
    EXPECT_EQ(job.rows().size(), 100);
  }
}

TEST(LoggedRows, SmallSectionsAreWrittenTogetherAgain) {
  MemoryFileSystem files;
  Job job;
  std::vector<SectionRef> refs;
  for (int64_t epoch = 1; epoch <= 500; ++epoch) {
    job.put("row " + std::to_string(epoch), epoch);
    refs = job.snapshot(files, epoch, epoch % 7 == 0);
    ASSERT_LE(refs.size(), RowLog::kSectionsMax + 2);
  }
  Job restored;
  ASSERT_TRUE(restored.restore(files, refs).ok());
  EXPECT_EQ(restored.all(), job.all());
}

TEST(LoggedRows, AnOlderFormIsRefused) {
  MemoryFileSystem files;
  Job old;
  old.put("a", 1);
  const auto refs = old.snapshot(files, 1);
  Job job(kAll, /*version=*/2);
  const Status refused = job.restore(files, refs);
  EXPECT_EQ(refused.code(), ErrorCode::kStateMismatch);
  EXPECT_THAT(refused.to_string(), HasSubstr("expected version 2 of section 'rows', found 1"));
}

/// The same rows as a map has, wherever snapshots are written late or lost, and through restores at one and
/// two subtasks.
void check_as_a_map(SpillSpace* space) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  MemoryFileSystem files;
  std::map<std::string, int64_t> model;
  std::vector<std::unique_ptr<Job>> jobs;
  jobs.push_back(std::make_unique<Job>(kAll, 1, space));
  const std::string padding(random.below(2) * 3000, 'p');
  for (int64_t epoch = 1; epoch <= 40; ++epoch) {
    const auto change = [&] {
      for (uint64_t n = random.below(120); n > 0; --n) {
        const std::string text = padding + std::to_string(random.below(60));
        const bool erased = random.below(3) == 0;
        const bool rewritten = random.below(4) == 0;
        for (const auto& job : jobs) {
          if (erased) job->erase(text);
          if (!erased) job->put(text, epoch);
          if (rewritten) job->rewrite(text);
        }
        if (erased) model.erase(text);
        if (!erased) model[text] = epoch;
      }
      for (const auto& job : jobs) RC_ASSERT(job->tidy().ok());
      for (const auto& job : jobs) RC_ASSERT(job->are_known());
    };
    change();
    std::vector<SnapshotBuilder> started;
    for (const auto& job : jobs) started.push_back(job->start(epoch));
    const std::map<std::string, int64_t> at_barrier = model;
    change();
    const bool lost = random.below(4) == 0;
    std::vector<SectionRef> refs;
    for (size_t i = 0; i < jobs.size(); ++i) {
      const auto own = jobs[i]->finish(started[i], files, lost);
      refs.insert(refs.end(), own.begin(), own.end());
    }
    if (lost || random.below(4) != 0) continue;
    jobs.clear();
    const bool two = random.below(2) == 0;
    jobs.push_back(std::make_unique<Job>(two ? kLow : kAll, 1, space));
    if (two) jobs.push_back(std::make_unique<Job>(kHigh, 1, space));
    std::map<std::string, int64_t> restored;
    for (const auto& job : jobs) {
      RC_ASSERT(job->restore(files, refs).ok());
      restored.merge(job->all());
    }
    RC_ASSERT(restored == at_barrier);
    model = at_barrier;
  }
}
RC_GTEST_PROP(LoggedRows, EqualAMapThroughSnapshotsCrashesAndRescales, ()) { check_as_a_map(nullptr); }
RC_GTEST_PROP(LoggedRows, EqualAMapWhereNothingStaysInMemory, ()) {
  check_as_a_map(make_memory_space(0).get());
}
RC_GTEST_PROP(LoggedRows, EqualAMapWhereSomeStayInMemory, ()) {
  check_as_a_map(make_memory_space(64 << 10).get());
}

/// Adds rows of about a kilobyte.
void add_rows(Job& job, int from, int until) {
  const std::string text(1000, 'x');
  for (int row = from; row < until; ++row) {
    job.put(text + std::to_string(row), row);
    if (row % 100 != 0) continue;
    ASSERT_TRUE(job.tidy().ok());
  }
  ASSERT_TRUE(job.tidy().ok());
}

TEST(LoggedRows, HoldManyTimesTheirShareOfMemory) {
  constexpr int64_t kShare = int64_t{1} << 20;
  const auto space = make_memory_space(kShare);
  MemoryFileSystem files;
  Job job(kAll, 1, space.get());
  Job in_memory;
  add_rows(job, 0, 20'000);
  add_rows(in_memory, 0, 20'000);
  EXPECT_LT(job.rows().memory_bytes(), kShare * 5 / 4);
  EXPECT_GT(space->disk().state, 15 * kShare);
  EXPECT_EQ(job.all(), in_memory.all());

  const auto refs = job.snapshot(files, 1);
  for (const SectionRef& ref : refs) EXPECT_LT(ref.length, 2 * space->section_bytes());
  Job restored(kAll, 1, space.get());
  ASSERT_TRUE(restored.restore(files, refs).ok());
  ASSERT_TRUE(restored.tidy().ok());
  EXPECT_LT(restored.rows().memory_bytes(), kShare * 5 / 4);
  EXPECT_EQ(restored.all(), in_memory.all());
  EXPECT_EQ(restored.snapshot(files, 2), refs);
}

// The row at hand comes to its end, and nothing that is wrong then goes into the log or is handed over.
TEST(LoggedRows, ARowThatCannotBeReadIsNothingAndTheReasonIsToldFromThenOn) {
  strand::testing::WatchedSpace space(0);
  Job job(kAll, 1, &space);
  add_rows(job, 0, 100);
  EXPECT_TRUE(job.rows().intact().ok());
  space.fail_reads();
  const std::string_view nothing = job.rows().body(7);
  EXPECT_EQ(nothing.find_first_not_of('\0'), std::string_view::npos);
  EXPECT_EQ(job.rows().hash(8), 0u);
  EXPECT_EQ(space.reads(), 1) << "what follows is not asked for";
  EXPECT_THAT(job.rows().intact().to_string(),
              HasSubstr("STRAND-5000  /local/1.log: the disk does not answer"));
  EXPECT_EQ(job.tidy().to_string(), job.rows().intact().to_string());
  EXPECT_EQ(space.intact().to_string(), job.rows().intact().to_string());
}

TEST(LoggedRows, TheLocalDiskHoldsAboutTwiceWhatLivesAndNothingOfALogThatHasGone) {
  const auto space = make_memory_space(128 << 10);
  {
    Job job(kAll, 1, space.get());
    for (int round = 0; round < 20; ++round) {
      for (int row = 0; row < 1000; ++row) job.rewrite(std::string(1000, 'x') + std::to_string(row));
      add_rows(job, 0, 1000);
    }
    EXPECT_LT(space->disk().state, 3'000'000);
  }
  EXPECT_EQ(space->disk().state, 0);
}

// What could not be handed over is in memory still, and all of it goes on where there is room.
TEST(LoggedRows, AFullLocalDiskIsToldAndLosesNothing) {
  env::PosixFileSystem disk;
  const std::string dir = ::testing::TempDir() + "rows-full-disk";
  const auto space = make_rocks_space(disk, {dir, int64_t{16} << 20, /*disk_limit=*/4 << 20});
  ASSERT_TRUE(space.ok());
  Job job(kAll, 1, space->get());
  const std::string text(1000, 'x');
  Status status;
  int rows = 0;
  for (; status.ok() && rows < 100'000; ++rows) {
    job.put(text + std::to_string(rows), rows);
    if (rows % 100 == 0) status = job.tidy();
  }
  EXPECT_EQ(status.code(), ErrorCode::kDiskFull);
  EXPECT_THAT(status.to_string(), HasSubstr("state.backend.rocksdb.localdir"));
  EXPECT_EQ(job.all().size(), static_cast<size_t>(rows));
  for (int row = 0; row < rows; ++row) job.erase(text + std::to_string(row));
  while ((*space)->disk().state > 1 << 20) {
    job.put("more", 1);
    job.erase("more");
    status = job.tidy();
  }
  EXPECT_TRUE(status.ok());
}

}  // namespace
}  // namespace strand::state
