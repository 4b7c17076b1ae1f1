#include "ops/top_n.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "tests/support/change_rows.h"

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

/// ROW_NUMBER() OVER (PARTITION BY k ORDER BY v DESC) <= 2
TopNOptions two_highest(bool rank = false, bool changes = false) {
  TopNOptions options;
  options.input = change_schema();
  options.keys = {0};
  options.order = {{1, /*descending=*/true, /*nulls_last=*/true}};
  options.to = 2;
  options.rank = rank;
  options.changes = changes;
  options.update_before = true;
  std::vector<columnar::Field> fields = change_schema()->fields();
  if (rank) fields.push_back({"rn", make_type(TypeKind::kBigInt, false)});
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return options;
}
constexpr bool kRank = true;
constexpr bool kNoRank = false;
constexpr bool kChanges = true;

OperatorHarness job(const TopNOptions& options, int32_t parallelism = 1) {
  return OperatorHarness([options] { return make_top_n(options); }, {0}, parallelism);
}

TEST(TopN, WithoutRankARowThatLeavesGoesBeforeTheOneThatEnters) {
  auto op = job(two_highest());
  op.batch(change_batch({{"+I", "a", 10}, {"+I", "a", 20}, {"+I", "a", 5}, {"+I", "a", 15}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 10]", "+I[a, 20]", "-D[a, 10]", "+I[a, 15]"));
  EXPECT_EQ(op.op().state_rows(), 2);
  EXPECT_EQ(op.ledger()[obs::Entry::kFiltered], 1);
}

TEST(TopN, TheOneRowOfATop1OverNewRowsIsUpdated) {
  TopNOptions options = two_highest();
  options.to = 1;
  auto op = job(options);
  op.batch(change_batch({{"+I", "a", 10}, {"+I", "a", 5}, {"+I", "a", 20}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 10]", "-U[a, 10]", "+U[a, 20]"));
}

// What was told of it stands: a guard, not a meaning.
TEST(TopN, ARowIsForgottenATtlAfterItCameWithoutAWord) {
  TopNOptions options = two_highest(kNoRank, kChanges);
  options.ttl = Duration{1'000};
  auto op = job(options);
  op.clock(WallTime{1'700'000'000'000});
  op.batch(change_batch({{"+I", "a", 9}, {"+I", "a", 8}, {"+I", "b", 7}}));
  op.clock(WallTime{1'700'000'000'600});
  op.batch(change_batch({{"+I", "a", 8}, {"+I", "a", 1}}));
  op.restore(op.snapshot(), 2);
  op.output();
  op.clock(WallTime{1'700'000'001'000});
  op.batch(change_batch({{"-D", "a", 9}, {"+I", "a", 2}}));
  EXPECT_THAT(op.output(), IsEmpty()) << "9 is no more; both 8 live with the newer one, in front of 2";
  op.clock(WallTime{1'700'000'001'600});
  op.batch(change_batch({{"+I", "a", 3}, {"+I", "b", 4}}));
  EXPECT_THAT(op.output(), UnorderedElementsAre("+I[a, 3]", "+I[b, 4]"));
  EXPECT_EQ(op.op(0).state_rows() + op.op(1).state_rows(), 3);
}

TEST(TopN, RowsOfAStateThatWasWithoutATtlStay) {
  auto before = job(two_highest());
  before.batch(change_batch({{"+I", "a", 9}}));
  const auto snapshot = before.snapshot();
  TopNOptions options = two_highest();
  options.ttl = Duration{1'000};
  OperatorHarness op([&] { return make_top_n(options); }, {0}, 1, before.files());
  op.clock(WallTime{1'700'000'000'000});
  op.restore(snapshot, 1);
  EXPECT_THAT(op.held(), ElementsAre("+I[a, 9]"));
}

TEST(TopN, WithRankEveryRankThatHasAnotherRowIsUpdated) {
  auto op = job(two_highest(kRank));
  op.batch(change_batch({{"+I", "a", 10}, {"+I", "a", 20}, {"+I", "a", 30}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 10, 1]", "-U[a, 10, 1]", "+U[a, 20, 1]", "+I[a, 10, 2]",
                                       "-U[a, 20, 1]", "+U[a, 30, 1]", "-U[a, 10, 2]", "+U[a, 20, 2]"));
}

TEST(TopN, OfEqualRowsTheEarlierArrivalRanksFirst) {
  auto op = job(two_highest(kRank));
  op.batch(change_batch({{"+I", "a", 10}, {"+I", "a", 10}, {"+I", "a", 10}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 10, 1]", "+I[a, 10, 2]"));
}

TEST(TopN, RanksBelowTheFirstThatIsAskedForAreNotEmitted) {
  TopNOptions options = two_highest(kRank);
  options.from = 2;
  auto op = job(options);
  op.batch(change_batch({{"+I", "a", 10}, {"+I", "a", 20}, {"+I", "a", 15}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 10, 2]", "-U[a, 10, 2]", "+U[a, 15, 2]"));
}

TEST(TopN, ARowThatIsTakenBackLetsTheNextOneIn) {
  auto op = job(two_highest(kNoRank, kChanges));
  op.batch(change_batch({{"+I", "a", 30}, {"+I", "a", 20}, {"+I", "a", 10}}));
  op.output();
  op.batch(change_batch({{"-D", "a", 30}}));
  EXPECT_THAT(op.output(), ElementsAre("-D[a, 30]", "+I[a, 10]"));
  op.batch(change_batch({{"-D", "a", 20}, {"-D", "a", 10}}));
  EXPECT_THAT(op.output(), ElementsAre("-D[a, 20]", "-D[a, 10]"));
  EXPECT_EQ(op.op().state_rows(), 0);
}

TEST(TopN, WithRankTheRowsBehindOneThatIsTakenBackMoveUp) {
  auto op = job(two_highest(kRank, kChanges));
  op.batch(change_batch({{"+I", "a", 30}, {"+I", "a", 20}, {"+I", "a", 10}}));
  op.output();
  op.batch(change_batch({{"-D", "a", 30}}));
  EXPECT_THAT(op.output(), ElementsAre("-U[a, 30, 1]", "+U[a, 20, 1]", "-U[a, 20, 2]", "+U[a, 10, 2]"));
  op.batch(change_batch({{"-D", "a", 20}}));
  EXPECT_THAT(op.output(), ElementsAre("-U[a, 20, 1]", "+U[a, 10, 1]", "-D[a, 10, 2]"));
}

TEST(TopN, ARowThatWasNeverSeenIsNotTakenBack) {
  auto op = job(two_highest(kNoRank, kChanges));
  op.batch(change_batch({{"+I", "a", 30}, {"-D", "a", 31}, {"-D", "b", 1}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[a, 30]"));
}

TEST(TopN, ARestoreTellsWhatWasEmittedAsHeldRows) {
  auto op = job(two_highest(kRank, kChanges));
  op.batch(change_batch({{"+I", "a", 30}, {"+I", "a", 20}, {"+I", "a", 10}, {"+I", "b", 1}}));
  op.restore(op.snapshot(), 2);
  EXPECT_THAT(op.held(), UnorderedElementsAre("+I[a, 30, 1]", "+I[a, 20, 2]", "+I[b, 1, 1]"));
}

/// The table that a changelog builds up.
void fold(const std::vector<std::string>& rows, std::multiset<std::string>& table) {
  for (const std::string& row : rows) {
    if (row[0] == '+') {
      table.insert(row.substr(2));
    } else {
      const auto found = table.find(row.substr(2));
      RC_ASSERT(found != table.end());
      table.erase(found);
    }
  }
}

RC_GTEST_PROP(TopN, TheTableIsThatOfASortWhereverItIsRestored, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  const bool rank = random.below(2) == 0;
  const bool changes = random.below(2) == 0;
  auto op = job(two_highest(rank, changes));
  std::vector<Change> there;
  std::multiset<std::string> table;
  for (int step = 0; step < 60; ++step) {
    if (!changes || there.empty() || random.below(3) != 0) {
      there.push_back({"+I", "k" + std::to_string(random.below(3)), random.between(0, 9)});
      op.batch(change_batch({there.back()}));
    } else {
      const auto gone = there.begin() + static_cast<std::ptrdiff_t>(random.below(there.size()));
      op.batch(change_batch({{"-D", gone->key, gone->value}}));
      there.erase(gone);
    }
    fold(op.output(), table);
    std::map<std::string, std::vector<int64_t>> keys;
    for (const Change& row : there) keys[row.key].push_back(row.value);
    std::multiset<std::string> expected;
    for (auto& [key, values] : keys) {
      std::ranges::sort(values, std::greater<>());
      for (size_t r = 0; r < std::min<size_t>(2, values.size()); ++r)
        expected.insert("[" + key + ", " + std::to_string(values[r]) +
                        (rank ? ", " + std::to_string(r + 1) : "") + "]");
    }
    RC_ASSERT(table == expected);
    if (random.below(4) == 0) op.restore(op.snapshot(), static_cast<int32_t>(1 + random.below(3)));
  }
}

}  // namespace
}  // namespace strand::ops
