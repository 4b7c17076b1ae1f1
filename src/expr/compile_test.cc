// Expression trees, folding, nested values.
#include "expr/expr_testing.h"

namespace strand::expr::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsSupersetOf;

const TypePtr kInt = type(TypeKind::kInt);

std::string folded(const ExprPtr& e) { return to_string(**fold(e, {})); }

TEST(Fold, ComputesWhatIsConstant) {
  const ExprPtr v = column(0, type(TypeKind::kBigInt));
  EXPECT_EQ(folded(fn("+", {v, fn("*", {number(2), number(3)})})), "($0 + 6)");
  EXPECT_EQ(folded(fn("<", {v, number(5)})), "($0 < 5)");
  EXPECT_EQ(folded(fn("UPPER", {text("it's")})), "'IT''S'");
  EXPECT_EQ(to_string(*literal(std::string("\x01\xFF"), sure(type(TypeKind::kBytes)))), "x'01ff'");
  // A plan is text, whatever its constants are.
  EXPECT_EQ(folded(cast(literal(std::string("\xFF"), sure(type(TypeKind::kBytes))), text_type())),
            "CAST(x'ff' AS STRING)");
  EXPECT_EQ(folded(of(timestamp(), "2024-01-02 03:04:05")), "TIMESTAMP '2024-01-02 03:04:05.000'");
  EXPECT_EQ(folded(fn("+", {number(1), null_of(kInt)})), "NULL");
  EXPECT_EQ(to_string(*(*fold(fn("+", {v, number(5)}), {}))->type), "BIGINT");
}

TEST(Fold, LeavesTheClockTheWatermarkAndWhatFails) {
  const ExprPtr clock = fn("PROCTIME", {});
  EXPECT_TRUE(equal(**fold(clock, {}), *clock));
  const ExprPtr watermark = fn("CURRENT_WATERMARK", {of(ltz(), "2024-01-01")});
  EXPECT_EQ((*fold(watermark, {}))->kind, Expr::Kind::kCall);
  // Only a row that takes the branch fails.
  const ExprPtr guarded =
      fn("CASE", {fn("=", {column(0, kInt), number(1)}), fn("/", {number(1), number(0)}), number(7)});
  EXPECT_THAT(values_of(guarded, batch_of({column_of(kInt, {"2", "3"})})), ElementsAre("7", "7"));
}

TEST(Fold, UsesTheSessionZone) {
  const ExprPtr e = cast(of(timestamp(), "1970-01-01 01:00:00"), ltz());
  EXPECT_EQ(std::get<int64_t>((*fold(e, {"Europe/Berlin"}))->literal), 0);
  EXPECT_EQ(std::get<int64_t>((*fold(e, {"UTC"}))->literal), 3'600'000);
}

TEST(Trees, ToStringColumnsAndRemap) {
  const ExprPtr e =
      fn("CASE", {fn("IS NULL", {column(4, kInt)}), column(2, kInt), fn("-", {column(2, kInt)})});
  EXPECT_EQ(to_string(*e), "CASE WHEN $4 IS NULL THEN $2 ELSE -($2) END");
  EXPECT_THAT(columns_of(*e), ElementsAre(2, 4));
  EXPECT_THAT(columns_of(*remap(e, {9, 9, 0, 9, 1})), ElementsAre(0, 1));
  const columnar::Schema schema({{"a", kInt}, {"b", kInt}});
  EXPECT_EQ(to_string(*fn("IN", {column(1, kInt), number(1), number(2)}), &schema), "b IN (1, 2)");
  EXPECT_EQ(to_string(*cast(column(0, kInt), text_type()), &schema), "CAST(a AS STRING)");
  EXPECT_TRUE(equal(*e, *remap(e, {0, 1, 2, 3, 4})));
  EXPECT_FALSE(equal(*e, *remap(e, {0, 1, 2, 3, 5})));
}

TEST(Compile, ConstantsFillTheBatch) {
  const auto batch = batch_of({column_of(kInt, {"1", "2", "3"})});
  EXPECT_THAT(values_of(text("x"), batch), ElementsAre("x", "x", "x"));
  EXPECT_THAT(values_of(null_of(kInt), batch), ElementsAre("null", "null", "null"));
}

TEST(Compile, AnEvaluatorServesBatchesOfAnyLength) {
  auto compiled = compile(fn("||", {text("n"), cast(column(0, kInt), text_type())}), {});
  for (const size_t length : {3, 0, 70, 1}) {
    const std::vector<std::string> values(length, "7");
    const Result<ColumnPtr> out = (*compiled)->eval(batch_of({column_of(kInt, values)}), context());
    EXPECT_EQ(rows_of(**out), std::vector<std::string>(length, "n7"));
  }
}

TEST(Registry, NamesItsFunctions) {
  EXPECT_THAT(function_names(), IsSupersetOf({"+", "AND", "IS NULL", "CASE", "CAST", "TO_TIMESTAMP_LTZ",
                                              "DATE_FORMAT", "REGEXP_EXTRACT", "FLOOR_TIME", "GET_FIELD"}));
}

class Nested : public ::testing::Test {
 protected:
  Nested() {
    columnar::Type array = *type(TypeKind::kArray);
    array.children = {{"element", kInt}};
    array_ = std::make_shared<const columnar::Type>(std::move(array));
    columnar::Type row = *type(TypeKind::kRow);
    row.children = {{"a", kInt}, {"b", text_type()}};
    row_ = std::make_shared<const columnar::Type>(std::move(row));
  }
  ColumnPtr arrays() const {  // [10, null], [], null, [30]
    columnar::ColumnBuilder out(array_);
    out.child(0).append<int32_t>(10);
    out.child(0).append_null();
    out.close_nested();
    out.close_nested();
    out.append_null();
    out.child(0).append<int32_t>(30);
    out.close_nested();
    return out.finish();
  }
  ColumnPtr rows() const {  // (1, x), null, (null, y)
    columnar::ColumnBuilder out(row_);
    out.child(0).append<int32_t>(1);
    out.child(1).append_string("x");
    out.close_nested();
    out.append_null();
    out.child(0).append_null();
    out.child(1).append_string("y");
    out.close_nested();
    return out.finish();
  }
  TypePtr array_;
  TypePtr row_;
};

TEST_F(Nested, ElementsOutOfBoundsAreNull) {
  const auto batch = batch_of({arrays(), column_of(kInt, {"2", "1", "1", "0"})});
  const ExprPtr a = column(0, array_);
  EXPECT_THAT(values_of(fn("ITEM", {a, number(1)}), batch), ElementsAre("10", "null", "null", "30"));
  EXPECT_THAT(values_of(fn("ITEM", {a, column(1, kInt)}), batch),
              ElementsAre("null", "null", "null", "null"));
  EXPECT_THAT(values_of(fn("CARDINALITY", {a}), batch), ElementsAre("2", "0", "null", "1"));
  EXPECT_THAT(selected(fn("=", {a, a}), batch), ElementsAre(0, 1, 3));
  EXPECT_FALSE(resolve_call("ITEM", {a, number(0)}).ok());
}

TEST_F(Nested, FieldsOfANullRowAreNull) {
  const auto batch = batch_of({rows()});
  const ExprPtr r = column(0, row_);
  EXPECT_THAT(values_of(fn("GET_FIELD", {r, text("a")}), batch), ElementsAre("1", "null", "null"));
  EXPECT_THAT(values_of(fn("GET_FIELD", {r, text("b")}), batch), ElementsAre("x", "null", "y"));
  EXPECT_THAT(values_of(fn("GET_FIELD", {r, text("b")}), batch_of({rows()->slice(1, 2)})),
              ElementsAre("null", "y"));
  EXPECT_EQ(resolve_call("GET_FIELD", {r, text("z")}).status().code(), ErrorCode::kUnknownColumn);
}

}  // namespace
}  // namespace strand::expr::testing
