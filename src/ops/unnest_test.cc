#include "ops/unnest.h"

#include <gmock/gmock.h>

#include "tests/support/operator_harness.h"

namespace strand::ops {
namespace {

using columnar::make_type;
using columnar::TypeKind;
using strand::testing::OperatorHarness;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

SchemaPtr schema_of(std::vector<columnar::Field> fields) {
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

/// (id INT, items ARRAY<STRING>)
SchemaPtr baskets() {
  return schema_of(
      {{"id", make_type(TypeKind::kInt)}, {"items", columnar::array_type(make_type(TypeKind::kString))}});
}
struct Basket {
  int32_t id = 0;
  std::optional<std::vector<std::string>> items;
  columnar::RowKind kind = columnar::RowKind::kInsert;
};
columnar::Batch batch_of(const std::vector<Basket>& rows) {
  columnar::BatchBuilder builder(baskets());
  for (const Basket& row : rows) {
    builder.column(0).append<int32_t>(row.id);
    if (!row.items) {
      builder.column(1).append_null();
    } else {
      for (const std::string& item : *row.items) builder.column(1).child(0).append_string(item);
      builder.column(1).close_nested();
    }
    builder.end_row(row.kind);
  }
  return builder.finish();
}
OperatorHarness unnested(bool outer, bool ordinality = false) {
  std::vector<columnar::Field> fields = {{"id", make_type(TypeKind::kInt)},
                                         {"item", make_type(TypeKind::kString)}};
  if (ordinality) fields.push_back({"n", make_type(TypeKind::kInt)});
  const UnnestOptions options{.input = baskets(),
                              .column = 1,
                              .keep = {0},
                              .outer = outer,
                              .ordinality = ordinality,
                              .output = schema_of(std::move(fields))};
  return OperatorHarness([options] { return Result<OperatorPtr>(make_unnest(options)); }, {});
}

TEST(Unnest, GivesTheRowOnceForEachElementInTheirOrder) {
  auto op = unnested(false);
  op.batch(batch_of({{1, {{"a", "b", "a"}}}, {2, {{}}}, {3, std::nullopt}, {4, {{"x"}}}}));
  EXPECT_THAT(op.output(), ElementsAre("+I[1, a]", "+I[1, b]", "+I[1, a]", "+I[4, x]"));
  EXPECT_EQ(op.ledger()[obs::Entry::kFiltered], 2);
}

TEST(Unnest, OfAnOuterOneARowWithoutElementsComesOnceWithoutAnElement) {
  auto op = unnested(true, /*ordinality=*/true);
  op.batch(batch_of({{1, {{"a", "b"}}}, {2, {{}}}, {3, std::nullopt}}));
  EXPECT_THAT(op.output(),
              ElementsAre("+I[1, a, 1]", "+I[1, b, 2]", "+I[2, null, null]", "+I[3, null, null]"));
  EXPECT_EQ(op.ledger()[obs::Entry::kFiltered], 0);
}

TEST(Unnest, EachElementHasTheKindOfItsRow) {
  auto op = unnested(false);
  op.batch(batch_of(
      {{1, {{"a", "b"}}, columnar::RowKind::kUpdateBefore}, {1, {{"c"}}, columnar::RowKind::kUpdateAfter}}));
  EXPECT_THAT(op.output(), ElementsAre("-U[1, a]", "-U[1, b]", "+U[1, c]"));
}

TEST(Unnest, ManyElementsComeInSeveralBatches) {
  auto op = unnested(false);
  const std::vector<std::string> many(10'000, "x");
  op.batch(batch_of({{1, many}, {2, {{"y"}}}}));
  const auto rows = op.output();
  ASSERT_EQ(rows.size(), 10'001u);
  EXPECT_EQ(rows.back(), "+I[2, y]");
  EXPECT_THAT(op.batch_sizes(), ElementsAre(4'096, 4'096, 1'809));
}

TEST(Unnest, ANumberRepeatsTheRow) {
  const SchemaPtr input =
      schema_of({{"id", make_type(TypeKind::kInt)}, {"times", make_type(TypeKind::kBigInt)}});
  const UnnestOptions options{
      .input = input, .column = 1, .keep = {0}, .output = schema_of({{"id", make_type(TypeKind::kInt)}})};
  OperatorHarness op([options] { return Result<OperatorPtr>(make_unnest(options)); }, {});
  columnar::BatchBuilder builder(input);
  for (const int64_t times : {2, 0, 1}) {
    builder.column(0).append<int32_t>(static_cast<int32_t>(times));
    builder.column(1).append(times);
    builder.end_row();
  }
  op.batch(builder.finish());
  EXPECT_THAT(op.output(), ElementsAre("+I[2]", "+I[2]", "+I[1]"));
}

TEST(Unnest, AMultisetGivesAnElementAsOftenAsItHasIt) {
  const SchemaPtr input = schema_of({{"m", columnar::multiset_type(make_type(TypeKind::kString))}});
  const UnnestOptions options{
      .input = input, .column = 0, .keep = {}, .output = schema_of({{"e", make_type(TypeKind::kString)}})};
  OperatorHarness op([options] { return Result<OperatorPtr>(make_unnest(options)); }, {});
  columnar::BatchBuilder builder(input);
  for (const auto& [element, count] : {std::pair{"a", 2}, {"b", 1}}) {
    builder.column(0).child(0).append_string(element);
    builder.column(0).child(1).append<int32_t>(count);
  }
  builder.column(0).close_nested();
  builder.end_row();
  op.batch(builder.finish());
  EXPECT_THAT(op.output(), ElementsAre("+I[a]", "+I[a]", "+I[b]"));
}

}  // namespace
}  // namespace strand::ops
