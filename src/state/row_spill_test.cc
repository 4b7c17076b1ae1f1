#include "state/row_spill.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "state/spill/memory_spill.h"
#include "state/spill/ordered_key.h"
#include "tests/support/memory_file_system.h"

namespace strand::state {
namespace {

using strand::testing::MemoryFileSystem;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;
using Rows = std::map<std::string, std::string>;

constexpr KeyGroupRange kGroups{0, 127};

/// The key in a group that its first character chooses.
std::string row_key(const std::string& key) {
  std::string stored;
  append_ordered(static_cast<uint16_t>(key[0]), stored);
  return stored + key;
}

/// Rows on one subtask, and its snapshots.
class Cold {
 public:
  explicit Cold(KeyGroupRange groups = kGroups) : rows_(*space_, groups) {}

  void put(const Rows& rows) {
    const std::vector<std::pair<std::string, std::string>> list(rows.begin(), rows.end());
    const auto row = [&](size_t i, std::string& key, std::string& value) {
      key = row_key(list[i].first);
      value = list[i].second;
    };
    ASSERT_TRUE(rows_.put(list.size(), row).ok());
  }
  std::string take(const std::string& key) {
    const std::string stored = row_key(key);
    const std::vector<std::string_view> keys = {stored};
    std::string taken;
    EXPECT_TRUE(rows_.take(keys, [&](size_t, std::string_view value) { taken = value; }).ok());
    return taken;
  }
  Rows all() const {
    Rows rows;
    EXPECT_TRUE(rows_
                    .for_each([&](std::string_view key, std::string_view value) {
                      rows.emplace(key.substr(2), value);
                      return Status();
                    })
                    .ok());
    return rows;
  }
  SnapshotBuilder start(int64_t epoch) {
    SnapshotBuilder out(Epoch{epoch}, kGroups);
    out.set_operator("totals");
    rows_.snapshot(out);
    return out;
  }
  std::vector<SectionRef> finish(SnapshotBuilder out, MemoryFileSystem& files, bool lost = false) {
    const Epoch epoch = out.epoch();
    auto refs = out.write(files, "d");
    EXPECT_TRUE(refs.ok());
    if (lost) return *refs;
    EXPECT_THAT(rows_.written(epoch, *refs), IsEmpty());
    return *refs;
  }
  std::vector<SectionRef> snapshot(MemoryFileSystem& files, int64_t epoch, bool lost = false) {
    return finish(start(epoch), files, lost);
  }
  void restore(MemoryFileSystem& files, const std::vector<SectionRef>& refs) {
    ASSERT_TRUE(rows_.restore(sections_of(files, refs)).ok());
  }
  RowSpill& rows() { return rows_; }

  static std::vector<Section> sections_of(MemoryFileSystem& files, const std::vector<SectionRef>& refs) {
    SnapshotReader reader(files, "d");
    std::vector<Section> sections;
    for (const SectionRef& ref : refs) {
      auto section = reader.read(ref);
      EXPECT_TRUE(section.ok());
      sections.push_back(*section);
    }
    return sections;
  }

 private:
  std::unique_ptr<SpillSpace> space_ = make_memory_space(0);
  RowSpill rows_;
};

/// What a table in memory reads of a snapshot.
Rows read_by_heap(MemoryFileSystem& files, const std::vector<SectionRef>& refs) {
  Rows rows;
  EXPECT_TRUE(RowSpill::read(Cold::sections_of(files, refs), kGroups,
                             [&](std::string_view key, std::string_view value) {
                               rows[std::string(key.substr(2))] = value;
                               return Status();
                             })
                  .ok());
  std::erase_if(rows, [](const auto& row) { return row.second.empty(); });
  return rows;
}

TEST(RowSpill, TheNewestRowOfAKeyIsThere) {
  Cold cold;
  cold.put({{"a", "1"}, {"b", "1"}, {"c", "1"}});
  cold.put({{"a", "2"}, {"b", ""}});
  EXPECT_EQ(cold.take("a"), "2");
  EXPECT_EQ(cold.take("b"), "");
  EXPECT_EQ(cold.take("d"), "");
  EXPECT_THAT(cold.all(), UnorderedElementsAre(Pair("a", "2"), Pair("c", "1")));
}

TEST(RowSpill, ASnapshotHoldsWhatIsNewAndRefersToTheRest) {
  MemoryFileSystem files;
  Cold cold;
  cold.put({{"a", "1"}, {"b", "1"}});
  const auto first = cold.snapshot(files, 1);
  ASSERT_EQ(first.size(), 1u);
  EXPECT_EQ(cold.snapshot(files, 2), first);
  cold.put({{"b", "2"}});
  const auto third = cold.snapshot(files, 3);
  ASSERT_EQ(third.size(), 2u);
  EXPECT_EQ(third[0], first[0]);
  EXPECT_LT(third[1].length, first[0].length);
}

TEST(RowSpill, RowsOfALostSnapshotAreInTheNextOne) {
  MemoryFileSystem files;
  Cold cold;
  cold.put({{"a", "1"}});
  cold.snapshot(files, 1, /*lost=*/true);
  cold.put({{"b", "2"}});
  Cold restored;
  restored.restore(files, cold.snapshot(files, 2));
  EXPECT_EQ(restored.all(), (Rows{{"a", "1"}, {"b", "2"}}));
}

TEST(RowSpill, ARestoreHasTheNewestRowAndWhatItWritesThenIsNewerStill) {
  MemoryFileSystem files;
  Cold cold;
  cold.put({{"a", "1"}, {"b", "1"}, {"c", "1"}});
  cold.snapshot(files, 1);
  cold.put({{"a", "2"}, {"b", ""}});
  const auto second = cold.snapshot(files, 2);
  EXPECT_EQ(read_by_heap(files, second), (Rows{{"a", "2"}, {"c", "1"}}));

  Cold restored;
  restored.restore(files, second);
  EXPECT_EQ(restored.all(), (Rows{{"a", "2"}, {"c", "1"}}));
  restored.put({{"c", "3"}});
  const auto third = restored.snapshot(files, 3);
  EXPECT_EQ(third.size(), 3u);
  Cold again;
  again.restore(files, third);
  EXPECT_EQ(again.all(), (Rows{{"a", "2"}, {"c", "3"}}));
}

// One subtask becomes two and one again; of the file that both refer to, each answers for its own groups.
TEST(RowSpill, ARowThatANewOwnerRemovedStaysAwayAtAnyParallelism) {
  MemoryFileSystem files;
  Cold one;
  one.put({{"A", "1"}, {"z", "1"}});
  const auto first = one.snapshot(files, 1);
  Cold lower({0, 99});
  Cold upper({100, 127});
  lower.restore(files, first);
  upper.restore(files, first);
  EXPECT_EQ(lower.all(), (Rows{{"A", "1"}}));
  EXPECT_EQ(upper.all(), (Rows{{"z", "1"}}));
  upper.put({{"z", ""}});
  auto second = lower.snapshot(files, 2);
  const auto of_upper = upper.snapshot(files, 2);
  second.insert(second.begin(), of_upper.begin(), of_upper.end());
  Cold restored;
  restored.restore(files, second);
  EXPECT_EQ(restored.all(), (Rows{{"A", "1"}}));
  EXPECT_EQ(read_by_heap(files, second), (Rows{{"A", "1"}}));
}

// The same rows again and again: sections would grow without end.
TEST(RowSpill, FilesStayAFewTimesAsLargeAsTheRows) {
  MemoryFileSystem files;
  Cold cold;
  const auto version = [](int n) {
    Rows rows;
    for (int key = 0; key < 4000; ++key) {
      rows[std::string(1, static_cast<char>('A' + key % 50)) + std::to_string(key)] =
          std::to_string(n) + std::string(1000, 'x');
    }
    return rows;
  };
  for (int n = 1; n <= 12; ++n) {
    cold.put(version(n));
    SnapshotBuilder out = cold.start(n);
    cold.put({{"A-behind-the-barrier", "no"}});
    const auto refs = cold.finish(std::move(out), files);
    uint64_t bytes = 0;
    for (const SectionRef& ref : refs) bytes += ref.length;
    EXPECT_LT(bytes, 7 * 4'100'000u) << n;
    cold.put({{"A-behind-the-barrier", ""}});
    const Rows expected = version(n);
    Rows found = read_by_heap(files, refs);
    EXPECT_EQ(found.erase("A-behind-the-barrier"), 0u);
    EXPECT_TRUE(found == expected) << n;
  }
}

TEST(RowSpill, ARowThatIsOfNoUseAfterTheBarrierIsInTheSnapshotAllTheSame) {
  MemoryFileSystem files;
  const auto space = make_memory_space(0);
  bool over = false;
  RowSpill rows(*space, kGroups, [&over](std::string_view, std::string_view) { return over; });
  const auto row = [](size_t, std::string& key, std::string& value) {
    key = row_key("a");
    value = "1";
  };
  ASSERT_TRUE(rows.put(1, row).ok());
  rows.write_anew();
  SnapshotBuilder out(Epoch{1}, kGroups);
  rows.snapshot(out);
  over = true;
  const auto refs = out.write(files, "d");
  ASSERT_TRUE(refs.ok());
  Rows read;
  const auto visit = [&](std::string_view key, std::string_view value) {
    read.emplace(key.substr(2), value);
    return Status();
  };
  ASSERT_TRUE(RowSpill::read(Cold::sections_of(files, *refs), kGroups, visit).ok());
  EXPECT_THAT(read, UnorderedElementsAre(Pair("a", "1")));
}

}  // namespace
}  // namespace strand::state
