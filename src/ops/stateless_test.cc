#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ops/operators.h"
#include "tests/support/click_rows.h"

namespace strand::ops {
namespace {

using columnar::make_type;
using columnar::TypeKind;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

columnar::SchemaPtr schema() {
  return std::make_shared<const columnar::Schema>(std::vector<columnar::Field>{
      {"ok", make_type(TypeKind::kBoolean)}, {"n", make_type(TypeKind::kBigInt)}});
}

/// TRUE 1, FALSE 2, NULL 3, TRUE 4
columnar::Batch rows() {
  columnar::BatchBuilder builder(schema());
  for (int64_t n = 1; n <= 4; ++n) {
    if (n == 3) {
      builder.column(0).append_null();
    } else {
      builder.column(0).append_boolean(n != 2);
    }
    builder.column(1).append(n);
    builder.end_row();
  }
  return builder.finish();
}

OperatorHarness filter() {
  const auto condition = expr::column(0, make_type(TypeKind::kBoolean));
  return OperatorHarness([condition] { return make_filter(condition, {}); }, {});
}

TEST(Filter, OnlyTrueLetsARowThrough) {
  auto op = filter();
  op.batch(rows());
  EXPECT_THAT(op.output(), ElementsAre("+I[TRUE, 1]", "+I[TRUE, 4]"));
  EXPECT_EQ(op.ledger()[obs::Entry::kFiltered], 2);
  EXPECT_EQ(op.ledger()[obs::Entry::kCounted], 2);
  EXPECT_EQ(op.ledger()[obs::Entry::kOut], 2);
}

TEST(Filter, SeesOnlyTheRowsThatCount) {
  auto op = filter();
  op.batch(rows().with_selection(std::make_shared<columnar::Selection>(columnar::Selection{1, 3})));
  EXPECT_THAT(op.output(), ElementsAre("+I[TRUE, 4]"));
  EXPECT_EQ(op.ledger()[obs::Entry::kIn], 2);
}

TEST(Filter, KeepsAFloorOnlyIfItReadsTheWatermark) {
  auto op = filter();
  EXPECT_FALSE(op.op().judges_lateness());
}

/// TRUE 1 and FALSE 2 are an update, as are FALSE 2 and TRUE 4.
columnar::Batch updates(const columnar::Selection& selected) {
  using enum columnar::RowKind;
  const auto kinds = [](std::vector<columnar::RowKind> all) {
    auto out = std::make_shared<std::vector<uint8_t>>();
    for (const auto kind : all) out->push_back(static_cast<uint8_t>(kind));
    return out;
  };
  return rows()
      .with_selection(std::make_shared<columnar::Selection>(selected))
      .with_kinds(selected[0] == 0 ? kinds({kUpdateBefore, kUpdateAfter, kInsert, kInsert})
                                   : kinds({kInsert, kUpdateBefore, kInsert, kUpdateAfter}));
}

TEST(Filter, HalfOfAnUpdateIsAnInsertionOrADeletionWhereUpdatesAreWhole) {
  const auto condition = expr::column(0, make_type(TypeKind::kBoolean));
  for (const bool whole : {false, true}) {
    OperatorHarness op([=] { return make_filter(condition, {}, whole); }, {});
    op.batch(updates({0, 1}));
    op.batch(updates({1, 3}));
    EXPECT_THAT(op.output(), whole ? ElementsAre("-D[TRUE, 1]", "+I[TRUE, 4]")
                                   : ElementsAre("-U[TRUE, 1]", "+U[TRUE, 4]"));
    EXPECT_TRUE(op.ledger().balanced());
  }
}

TEST(Filter, HalvesOfAnUpdateMayComeInTwoBatches) {
  const auto condition = expr::column(0, make_type(TypeKind::kBoolean));
  OperatorHarness op([=] { return make_filter(condition, {}, /*whole_updates=*/true); }, {});
  const columnar::Batch first = updates({0, 1});
  op.batch(first.slice(0, 1));
  EXPECT_THAT(op.output(), IsEmpty());
  op.batch(first.slice(1, 1));
  EXPECT_THAT(op.output(), ElementsAre("-D[TRUE, 1]"));
  EXPECT_TRUE(op.ledger().balanced());
}

TEST(Project, ComputesColumnsOfTheRowsThatCount) {
  const auto output = std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"m", make_type(TypeKind::kBigInt)}});
  const std::vector<ExprPtr> expressions = {expr::column(1, make_type(TypeKind::kBigInt))};
  OperatorHarness op([=] { return make_project(expressions, output, {}); }, {});
  op.batch(rows().with_selection(std::make_shared<columnar::Selection>(columnar::Selection{0, 2})));
  EXPECT_THAT(op.output(), ElementsAre("+I[1]", "+I[3]"));
  EXPECT_EQ(op.ledger()[obs::Entry::kOut], 2);
}

TEST(Union, PassesRowsOfEachInputOn) {
  OperatorHarness op([] { return Result<OperatorPtr>(make_union(schema())); }, {});
  op.batch(rows());
  EXPECT_EQ(op.output().size(), 4u);
}

/// Counts what is emitted.
struct Counter : flow::Emitter {
  Status emit(Port, flow::Batch batch) override {
    rows += batch.rows();
    return Status();
  }
  bool wanted(Port) const override { return true; }
  int64_t rows = 0;
};

TEST(Filter, HeldRowsPassWithoutBeingBooked) {
  auto op = filter();
  Counter out;
  ASSERT_TRUE(op.op().process_held(rows(), out).ok());
  EXPECT_EQ(out.rows, 2);
  EXPECT_EQ(op.ledger()[obs::Entry::kIn], 0);
}

}  // namespace
}  // namespace strand::ops
