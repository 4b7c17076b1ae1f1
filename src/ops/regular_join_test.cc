#include "ops/regular_join.h"

#include <gmock/gmock.h>

#include "state/spill/memory_spill.h"
#include "tests/support/operator_harness.h"

namespace strand::ops {
namespace {

using columnar::RowKind;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using Output = RegularJoinOptions::Output;

constexpr int kLeft = 0;
constexpr int kRight = 1;

SchemaPtr schema(std::vector<std::string> texts) {
  std::vector<columnar::Field> fields = {{"k", columnar::make_type(columnar::TypeKind::kInt)}};
  for (std::string& text : texts)
    fields.push_back({std::move(text), columnar::make_type(columnar::TypeKind::kString)});
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

/// l (k INT, x STRING) and r (k INT, y STRING) on l.k = r.k.
RegularJoinOptions on_key(bool left_outer = false, bool right_outer = false, Output kind = Output::kPairs) {
  RegularJoinOptions options;
  options.sides[0] = {schema({"x"}), {0}, left_outer};
  options.sides[1] = {schema({"y"}), {0}, right_outer};
  options.kind = kind;
  std::vector<columnar::Field> both = options.sides[0].schema->fields();
  for (const columnar::Field& field : options.sides[1].schema->fields()) both.push_back(field);
  options.output = kind == Output::kPairs ? std::make_shared<const columnar::Schema>(std::move(both))
                                          : options.sides[0].schema;
  return options;
}

class RegularJoinTest : public ::testing::Test {
 protected:
  static OperatorHarness job(const RegularJoinOptions& options, int32_t parallelism = 1) {
    return OperatorHarness([options] { return make_regular_join(options); }, {0}, parallelism);
  }
  static columnar::Batch row(std::optional<int32_t> key, const std::string& text,
                             RowKind kind = RowKind::kInsert) {
    columnar::BatchBuilder builder(schema({"text"}));
    key ? builder.column(0).append<int32_t>(*key) : builder.column(0).append_null();
    builder.column(1).append_string(text);
    builder.end_row(kind);
    return builder.finish();
  }
};

TEST_F(RegularJoinTest, APairHasTheKindOfTheRowThatMakesItAndIsTakenBackWithEither) {
  OperatorHarness join = job(on_key());
  join.batch(row(1, "a"), kLeft);
  EXPECT_THAT(join.output(), IsEmpty());
  join.batch(row(1, "A"), kRight);
  EXPECT_THAT(join.output(), ElementsAre("+I[1, a, 1, A]"));
  join.batch(row(1, "A", RowKind::kUpdateBefore), kRight);
  join.batch(row(1, "B", RowKind::kUpdateAfter), kRight);
  EXPECT_THAT(join.output(), ElementsAre("-U[1, a, 1, A]", "+U[1, a, 1, B]"));
  join.batch(row(1, "a", RowKind::kDelete), kLeft);
  EXPECT_THAT(join.output(), ElementsAre("-D[1, a, 1, B]"));
  EXPECT_EQ(join.op().state_rows(), 1);
}

TEST_F(RegularJoinTest, WithoutUpdateKindsEveryPairComesAndGoes) {
  RegularJoinOptions options = on_key();
  options.update_kinds = false;
  OperatorHarness join = job(options);
  join.batch(row(1, "a"), kLeft);
  join.batch(row(1, "A", RowKind::kUpdateAfter), kRight);
  join.batch(row(1, "A", RowKind::kUpdateBefore), kRight);
  EXPECT_THAT(join.output(), ElementsAre("+I[1, a, 1, A]", "-D[1, a, 1, A]"));
}

TEST_F(RegularJoinTest, APaddedRowGoesWithTheFirstPartnerAndComesAgainWhenTheLastHasGone) {
  OperatorHarness join = job(on_key(/*left_outer=*/true));
  join.batch(row(1, "a"), kLeft);
  EXPECT_THAT(join.output(), ElementsAre("+I[1, a, null, null]"));
  join.batch(row(1, "A"), kRight);
  join.batch(row(1, "B"), kRight);
  EXPECT_THAT(join.output(), ElementsAre("-D[1, a, null, null]", "+I[1, a, 1, A]", "+I[1, a, 1, B]"));
  join.batch(row(1, "A", RowKind::kDelete), kRight);
  EXPECT_THAT(join.output(), ElementsAre("-D[1, a, 1, A]"));
  join.batch(row(1, "B", RowKind::kDelete), kRight);
  EXPECT_THAT(join.output(), ElementsAre("-D[1, a, 1, B]", "+I[1, a, null, null]"));
}

TEST_F(RegularJoinTest, EqualRowsCountAsOftenAsTheyCame) {
  OperatorHarness join = job(on_key());
  join.batch(row(1, "a"), kLeft);
  join.batch(row(1, "a"), kLeft);
  join.batch(row(1, "A"), kRight);
  EXPECT_THAT(join.output(), ElementsAre("+I[1, a, 1, A]", "+I[1, a, 1, A]"));
  join.batch(row(1, "a", RowKind::kDelete), kLeft);
  EXPECT_THAT(join.output(), ElementsAre("-D[1, a, 1, A]"));
  join.batch(row(1, "A", RowKind::kDelete), kRight);
  EXPECT_THAT(join.output(), ElementsAre("-D[1, a, 1, A]"));
}

// Rows are found by their bytes only once one is taken back, where few are equal.
TEST_F(RegularJoinTest, OfManyRowsThatOnlyCameEachIsFoundWhenItIsTakenBack) {
  OperatorHarness join = job(on_key());
  columnar::BatchBuilder many(schema({"x"}));
  for (int32_t n = 0; n < 40'000; ++n) {
    many.column(0).append<int32_t>(n / 10);
    many.column(1).append_string("row " + std::to_string(n));
    many.end_row();
  }
  join.batch(many.finish(), kLeft);
  join.batch(row(7, "row 77"), kLeft);
  join.batch(row(7, "row 77"), kLeft);
  join.restore(join.snapshot(), 1);
  for (int back = 0; back < 4; ++back) join.batch(row(7, "row 77", RowKind::kDelete), kLeft);
  EXPECT_EQ(join.op().state_rows(), 39'999);
  join.batch(row(7, "R"), kRight);
  EXPECT_EQ(join.output().size(), 9u);
}

TEST_F(RegularJoinTest, ANullKeyHasNoPartnerAndIsNotKept) {
  OperatorHarness join = job(on_key(true));
  join.batch(row(std::nullopt, "n"), kLeft);
  join.batch(row(std::nullopt, "N"), kRight);
  join.batch(row(std::nullopt, "n", RowKind::kDelete), kLeft);
  EXPECT_THAT(join.output(), ElementsAre("+I[null, n, null, null]", "-D[null, n, null, null]"));
  EXPECT_EQ(join.op().state_rows(), 0);
}

TEST_F(RegularJoinTest, ASemiJoinGivesALeftRowOnceAndAnAntiJoinWhileItHasNoPartner) {
  OperatorHarness semi = job(on_key(false, false, Output::kSemi));
  OperatorHarness anti = job(on_key(false, false, Output::kAnti));
  for (OperatorHarness* join : {&semi, &anti}) {
    join->batch(row(1, "a"), kLeft);
    join->batch(row(1, "A"), kRight);
    join->batch(row(1, "B"), kRight);
    join->batch(row(1, "A", RowKind::kDelete), kRight);
    join->batch(row(1, "B", RowKind::kDelete), kRight);
  }
  EXPECT_THAT(semi.output(), ElementsAre("+I[1, a]", "-D[1, a]"));
  EXPECT_THAT(anti.output(), ElementsAre("+I[1, a]", "-D[1, a]", "+I[1, a]"));
}

TEST_F(RegularJoinTest, GoesOnAfterARestoreAtAnyParallelism) {
  OperatorHarness join = job(on_key(true));
  for (int32_t key = 0; key < 40; ++key) join.batch(row(key, "a"), kLeft);
  for (int32_t key = 0; key < 20; ++key) join.batch(row(key, "A"), kRight);
  join.output();
  const auto snapshot = join.snapshot();
  for (const int32_t parallelism : {1, 3, 2}) {
    join.restore(snapshot, parallelism);
    for (int32_t key = 0; key < 40; ++key) join.batch(row(key, "B"), kRight);
    const auto rows = join.output();
    EXPECT_EQ(rows.size(), 20u + 2 * 20u) << "20 keys take their padded row back";
    join.batch(row(3, "A", RowKind::kDelete), kRight);
    join.batch(row(3, "B", RowKind::kDelete), kRight);
    EXPECT_THAT(join.output(), ElementsAre("-D[3, a, 3, A]", "-D[3, a, 3, B]", "+I[3, a, null, null]"));
  }
}

TEST_F(RegularJoinTest, ARowThatIsNotWrittenForTheTtlIsForgotten) {
  RegularJoinOptions options = on_key();
  options.ttl = {Duration{1'000}, Duration{1'000}};
  OperatorHarness join = job(options);
  join.clock(WallTime{10'000});
  join.batch(row(1, "a"), kLeft);
  EXPECT_EQ(join.next_wakeup(), WallTime{11'000});
  join.clock(WallTime{10'999});
  join.batch(row(1, "A"), kRight);
  EXPECT_THAT(join.output(), ElementsAre("+I[1, a, 1, A]"));
  join.clock(WallTime{11'000});
  EXPECT_EQ(join.op().state_rows(), 1);
  join.batch(row(1, "B"), kRight);
  EXPECT_THAT(join.output(), IsEmpty());
}

// Forgetting reads each row once more, of which memory holds few at a time.
TEST_F(RegularJoinTest, RowsThatAreForgottenTakeNoMemory) {
  constexpr int64_t kShare = int64_t{1} << 20;
  const auto space = state::make_memory_space(2 * kShare);
  RegularJoinOptions options = on_key();
  options.ttl = {Duration{1'000}, Duration{1'000}};
  OperatorHarness join([&] { return make_regular_join(options); }, {0}, 1,
                       std::make_shared<strand::testing::MemoryFileSystem>(), space.get());
  join.clock(WallTime{10'000});
  for (int32_t key = 0; key < 10'000; key += 1000) {
    columnar::BatchBuilder rows(schema({"x"}));
    for (int32_t n = key; n < key + 1000; ++n) {
      rows.column(0).append<int32_t>(n);
      rows.column(1).append_string(std::string(1000, 'x'));
      rows.end_row();
    }
    join.batch(rows.finish(), kLeft);
  }
  EXPECT_GT(space->disk().state, 8 * kShare);
  const auto snapshot = join.snapshot();
  join.clock(WallTime{11'000});
  EXPECT_EQ(join.op().state_rows(), 0);
  EXPECT_LT(join.memory_used(), 2 * kShare);
  join.restore(snapshot, 1);
  EXPECT_EQ(join.op().state_rows(), 0);
  EXPECT_LT(join.memory_used(), 2 * kShare);
}

}  // namespace
}  // namespace strand::ops
