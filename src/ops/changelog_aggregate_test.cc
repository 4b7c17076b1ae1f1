#include "ops/changelog_aggregate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <map>
#include <numeric>
#include <set>

#include "base/random.h"
#include "state/spill/memory_spill.h"
#include "tests/support/change_rows.h"
#include "tests/support/lost_reads.h"

namespace strand::ops {
namespace {

using columnar::make_type;
using columnar::TypeKind;
using strand::testing::Change;
using strand::testing::change_batch;
using strand::testing::change_schema;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Kind = Aggregate::Kind;

/// SELECT k, COUNT(*), SUM(v), MAX(v), and in tests of restores COUNT(DISTINCT v), SUM(DISTINCT v), GROUP BY
/// k
GroupOptions totals(bool update_before = true) {
  const auto bigint = make_type(TypeKind::kBigInt);
  const auto count = make_type(TypeKind::kBigInt, false);
  GroupOptions options;
  options.input = change_schema();
  options.keys = {0};
  options.aggregates = {{Kind::kCountStar, 0, nullptr, count, "n"},
                        {Kind::kSum, 1, bigint, bigint, "total"},
                        {Kind::kMax, 1, bigint, bigint, "high"}};
  options.output = std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{(*change_schema())[0], {"n", count}, {"total", bigint}, {"high", bigint}});
  options.update_before = update_before;
  options.changes = true;
  return options;
}
GroupOptions with_distinct(bool changes) {
  GroupOptions options = totals();
  std::vector<columnar::Field> fields = options.output->fields();
  for (const Kind kind : {Kind::kCount, Kind::kSum}) {
    Aggregate distinct{kind, 1, make_type(TypeKind::kBigInt), make_type(TypeKind::kBigInt), "d"};
    distinct.distinct = true;
    options.aggregates.push_back(distinct);
    fields.push_back({"d" + std::to_string(fields.size()), distinct.type});
  }
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  options.changes = changes;
  return options;
}
OperatorHarness job(const GroupOptions& options = totals(), int32_t parallelism = 1) {
  return OperatorHarness([options] { return make_group_aggregate(options); }, {0}, parallelism);
}

TEST(ChangelogAggregate, AnUpdateTakesTheOldValueBackAndAddsTheNewOne) {
  auto op = job();
  op.batch(change_batch({{"+I", "a", 5}, {"+I", "a", 9}}));
  op.batch(change_batch({{"-U", "a", 9}, {"+U", "a", 2}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 2, 14, 9]", "-U[a, 2, 14, 9]", "+U[a, 2, 7, 5]"));
}

TEST(ChangelogAggregate, WithoutUpdateBeforeOnlyTheNewTotalComes) {
  auto op = job(totals(/*update_before=*/false));
  op.batch(change_batch({{"+I", "a", 5}}));
  op.batch(change_batch({{"+I", "a", 1}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1, 5, 5]", "+U[a, 2, 6, 5]"));
}

TEST(ChangelogAggregate, AKeyWhoseLastRowGoesIsDeletedAndBeginsAnew) {
  auto op = job();
  op.batch(change_batch({{"+I", "a", 5}}));
  op.batch(change_batch({{"-D", "a", 5}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1, 5, 5]", "-D[a, 1, 5, 5]"));
  EXPECT_EQ(op.op().state_rows(), 0);
  op.batch(change_batch({{"+I", "a", 3}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1, 3, 3]"));
}

// The end of a group reads its log once more, of which memory holds few at a time.
TEST(ChangelogAggregate, KeysThatGoTakeNoMemory) {
  constexpr int64_t kShare = int64_t{1} << 20;
  const auto space = state::make_memory_space(2 * kShare);
  OperatorHarness op([] { return make_group_aggregate(totals()); }, {0}, 1,
                     std::make_shared<strand::testing::MemoryFileSystem>(), space.get());
  const auto all = [](const std::string& kind) {
    std::vector<Change> changes;
    for (int key = 0; key < 5'000; ++key)
      changes.push_back({kind, std::to_string(key) + std::string(1000, 'x'), 1});
    return change_batch(changes);
  };
  op.batch(all("+I"));
  EXPECT_GT(space->disk().state, 4 * kShare);
  op.batch(all("-D"));
  EXPECT_EQ(op.op().state_rows(), 0);
  EXPECT_LT(op.memory_used(), 3 * kShare);
}

// Keys of which memory has no group any more go on from what was last known of them, with their values.
TEST(ChangelogAggregate, GroupsLeaveMemoryAndComeBackWhenABatchAsksForThem) {
  constexpr int64_t kShare = int64_t{1} << 20;
  const auto space = state::make_memory_space(2 * kShare);
  const auto make = [] { return make_group_aggregate(with_distinct(true)); };
  OperatorHarness op(make, {0}, 1, std::make_shared<strand::testing::MemoryFileSystem>(), space.get());
  const auto all = [](const std::string& kind, int64_t value) {
    std::vector<Change> changes;
    for (int key = 0; key < 20'000; ++key) changes.push_back({kind, std::to_string(key), value});
    return change_batch(changes);
  };
  op.batch(all("+I", 5));
  EXPECT_LT(op.memory_used(), 6 * kShare) << "about 120 bytes of each, most of them of its two values";
  op.output();
  op.batch(change_batch({{"+I", "7", 3}, {"-D", "8", 5}, {"-D", "9", 4}}));
  EXPECT_THAT(op.output(), UnorderedElementsAre("-U[7, 1, 5, 5, 1, 5]", "+U[7, 2, 8, 5, 2, 8]",
                                                "-D[8, 1, 5, 5, 1, 5]", "-D[9, 1, 5, 5, 1, 5]"));
  const auto snapshot = op.snapshot();
  OperatorHarness restored(make, {0}, 2, op.files(), space.get());
  restored.restore(snapshot, 2);
  EXPECT_EQ(restored.held().size(), 19'998u);
  restored.batch(change_batch({{"-D", "7", 5}, {"+I", "10", 5}}));
  EXPECT_THAT(restored.output(), UnorderedElementsAre("-U[7, 2, 8, 5, 2, 8]", "+U[7, 1, 3, 3, 1, 3]",
                                                      "-U[10, 1, 5, 5, 1, 5]", "+U[10, 2, 10, 5, 1, 5]"));
}

TEST(ChangelogAggregate, AReadThatFailsIsToldAndNothingFollowsOfIt) {
  using strand::testing::Steps;
  const Steps before = {[](OperatorHarness& op) {
    op.batch(change_batch({{"+I", "a", 5}, {"+I", "a", 9}, {"+I", "b", 1}, {"+I", "c", 1}}));
  }};
  const Steps after = {
      [](OperatorHarness& op) { op.batch(change_batch({{"-D", "a", 9}, {"+I", "b", 1}, {"-D", "c", 1}})); },
      [](OperatorHarness& op) { op.batch(change_batch({{"-D", "a", 5}, {"+I", "a", 5}, {"+I", "d", 1}})); }};
  const auto make = [] { return make_group_aggregate(with_distinct(true)); };
  EXPECT_GT(strand::testing::check_each_lost_read(make, {0}, before, after), 5);
}

TEST(ChangelogAggregate, AKeyThatComesAndGoesInOneBatchIsNeverTold) {
  auto op = job();
  op.batch(change_batch({{"+I", "a", 5}, {"-D", "a", 5}}));
  EXPECT_THAT(op.output(), IsEmpty());
}

TEST(ChangelogAggregate, WhatIsTakenBackFromAnUnknownKeyIsPassedOver) {
  auto op = job();
  op.batch(change_batch({{"-D", "a", 5}, {"+I", "a", 7}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1, 7, 7]"));
}

TEST(ChangelogAggregate, ATotalThatDoesNotChangeIsNotEmitted) {
  auto op = job();
  op.batch(change_batch({{"+I", "a", 5}}));
  op.batch(change_batch({{"-U", "a", 5}, {"+U", "a", 5}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 1, 5, 5]"));
}

TEST(ChangelogAggregate, ARestoreTellsAllTotalsAsHeldRows) {
  auto op = job();
  op.batch(change_batch({{"+I", "a", 5}, {"+I", "b", 6}, {"+I", "b", 1}}));
  op.restore(op.snapshot(), 2);
  EXPECT_THAT(op.held(), UnorderedElementsAre("+I[a, 1, 5, 5]", "+I[b, 2, 7, 6]"));
}

void check_totals(state::SpillSpace* space) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  const bool changes = random.below(3) != 0;
  OperatorHarness op([&] { return make_group_aggregate(with_distinct(changes)); }, {0}, 1,
                     std::make_shared<strand::testing::MemoryFileSystem>(), space);
  std::vector<Change> there;
  std::map<std::string, std::string> table;
  for (int step = 0; step < 60; ++step) {
    std::vector<Change> batch;
    for (uint64_t n = 1 + random.below(4); n > 0; --n) {
      if (!changes || there.empty() || random.below(3) != 0) {
        there.push_back({"+I", "k" + std::to_string(random.below(4)), random.between(0, 9)});
        batch.push_back(there.back());
      } else {
        const auto gone = there.begin() + static_cast<std::ptrdiff_t>(random.below(there.size()));
        batch.push_back({"-D", gone->key, gone->value});
        there.erase(gone);
      }
    }
    op.batch(change_batch(batch));
    for (const std::string& row : op.output()) {
      const std::string key = row.substr(3, 2);
      if (row[0] == '+') table[key] = row.substr(2);
      if (row.starts_with("-D")) table.erase(key);
    }
    std::map<std::string, std::string> expected;
    std::map<std::string, std::array<int64_t, 3>> sums;
    std::map<std::string, std::set<int64_t>> distinct;
    for (const Change& row : there) {
      auto& [n, total, high] = sums[row.key];
      high = n == 0 ? row.value : std::max(high, row.value);
      ++n;
      total += row.value;
      distinct[row.key].insert(row.value);
    }
    for (const auto& [key, sum] : sums) {
      const std::set<int64_t>& values = distinct[key];
      expected[key] = "[" + key;
      for (const int64_t n : {sum[0], sum[1], sum[2], static_cast<int64_t>(values.size()),
                              std::accumulate(values.begin(), values.end(), int64_t{0})}) {
        expected[key] += ", " + std::to_string(n);
      }
      expected[key] += "]";
    }
    RC_ASSERT(table == expected);
    if (random.below(4) == 0) op.restore(op.snapshot(), static_cast<int32_t>(1 + random.below(3)));
  }
}

RC_GTEST_PROP(ChangelogAggregate, EqualsATotalOfTheRowsThatAreThereWhereverItIsRestored, ()) {
  check_totals(nullptr);
}
RC_GTEST_PROP(ChangelogAggregate, EqualsATotalWhereNothingStaysInMemory, ()) {
  check_totals(state::make_memory_space(0).get());
}
RC_GTEST_PROP(ChangelogAggregate, EqualsATotalWhereSomeGroupsStayInMemory, ()) {
  check_totals(state::make_memory_space(6'000).get());
}

}  // namespace
}  // namespace strand::ops
