// Which type comes of which.
#include "expr/types.h"

#include "expr/aggregate.h"
#include "expr/expr_testing.h"

namespace strand::expr::testing {
namespace {

using ::testing::HasSubstr;

std::string common(const std::vector<TypePtr>& types) {
  const TypePtr t = common_type(types);
  return t == nullptr ? "none" : to_string(*t);
}

const TypePtr kTiny = sure(type(TypeKind::kTinyInt));
const TypePtr kSmall = sure(type(TypeKind::kSmallInt));
const TypePtr kInt = sure(type(TypeKind::kInt));
const TypePtr kBig = sure(type(TypeKind::kBigInt));
const TypePtr kFloat = sure(type(TypeKind::kFloat));
const TypePtr kDouble = sure(type(TypeKind::kDouble));

TEST(CommonType, OfCaseBranches) {
  EXPECT_EQ(common({kInt, sure(decimal(2, 1)), kBig}), "DECIMAL(20, 1) NOT NULL");
  EXPECT_EQ(common({kInt, sure(decimal(2, 1))}), "DECIMAL(11, 1) NOT NULL");
  EXPECT_EQ(common({kInt, type(TypeKind::kNull)}), "INT");
  EXPECT_EQ(common({kInt, kSmall}), "INT NOT NULL");
  EXPECT_EQ(common({sure(decimal(12, 2)), kDouble}), "DOUBLE NOT NULL");
  EXPECT_EQ(common({sure(timestamp(0)), sure(timestamp(6))}), "TIMESTAMP(6) NOT NULL");
  EXPECT_EQ(common({timestamp(3), ltz(3)}), "TIMESTAMP_LTZ(3)");
  EXPECT_EQ(common({kInt, text_type()}), "none");
  EXPECT_EQ(common({sure(type(TypeKind::kBoolean)), kInt}), "none");
}

TEST(CommonType, OfTextsIsTheLongerAndUnboundedIfOneIs) {
  EXPECT_EQ(common_type(std::vector{text_type(3), text_type(5)})->precision, 5);
  EXPECT_EQ(common_type(std::vector{text_type(3), text_type()})->precision, 0);
}

TEST(ArithmeticType, OfIntegersIsTheWider) {
  EXPECT_EQ(to_string(*arithmetic_type('+', *kTiny, *kTiny)), "TINYINT NOT NULL");
  EXPECT_EQ(to_string(*arithmetic_type('*', *kTiny, *kBig)), "BIGINT NOT NULL");
  EXPECT_EQ(to_string(*arithmetic_type('/', *kInt, *kSmall)), "INT NOT NULL");
  EXPECT_EQ(to_string(*arithmetic_type('%', *kBig, *kInt)), "INT NOT NULL");  // of the divisor
}

TEST(ArithmeticType, OfApproximateNumbersIsTheFirst) {
  EXPECT_EQ(to_string(*arithmetic_type('+', *kFloat, *kDouble)), "FLOAT NOT NULL");
  EXPECT_EQ(to_string(*arithmetic_type('+', *kDouble, *kFloat)), "DOUBLE NOT NULL");
  EXPECT_EQ(to_string(*arithmetic_type('+', *kBig, *kFloat)), "FLOAT NOT NULL");
  EXPECT_EQ(to_string(*arithmetic_type('+', *sure(decimal(3, 1)), *kDouble)), "DOUBLE NOT NULL");
}

TEST(ArithmeticType, OfDecimals) {
  const auto of = [](char op, const TypePtr& a, const TypePtr& b) {
    return to_string(*arithmetic_type(op, *a, *b));
  };
  const TypePtr c = decimal(10, 2);
  const TypePtr k = decimal(38, 10);
  EXPECT_EQ(of('+', c, c), "DECIMAL(11, 2)");
  EXPECT_EQ(of('*', c, c), "DECIMAL(21, 4)");
  EXPECT_EQ(of('/', c, kInt), "DECIMAL(21, 13)");
  EXPECT_EQ(of('*', c, kInt), "DECIMAL(21, 2)");
  EXPECT_EQ(of('/', decimal(5, 2), decimal(5, 2)), "DECIMAL(13, 8)");
  EXPECT_EQ(of('*', kBig, decimal(4, 3)), "DECIMAL(24, 3)");
  EXPECT_EQ(of('+', k, kInt), "DECIMAL(38, 9)");
  EXPECT_EQ(of('*', k, k), "DECIMAL(38, 6)");
  EXPECT_EQ(of('/', k, kInt), "DECIMAL(38, 10)");
  EXPECT_EQ(of('+', c, k), "DECIMAL(38, 9)");
  EXPECT_EQ(of('%', c, decimal(5, 3)), "DECIMAL(5, 3)");
}

TEST(ComparisonType, TextMeetsNumbersInAnOrderOnly) {
  EXPECT_EQ(comparison_type(*text_type(), *kInt, true), nullptr);
  EXPECT_EQ(comparison_type(*text_type(), *kInt, false)->kind, TypeKind::kInt);
  EXPECT_EQ(comparison_type(*sure(type(TypeKind::kDate)), *text_type(), true)->kind, TypeKind::kDate);
  EXPECT_EQ(comparison_type(*type(TypeKind::kDate), *timestamp(), false), nullptr);
  EXPECT_EQ(comparison_type(*type(TypeKind::kBoolean), *kInt, true), nullptr);
  EXPECT_EQ(comparison_type(*kFloat, *decimal(2, 1), true)->kind, TypeKind::kFloat);
}

TEST(ResolveCall, PutsTheCastsIn) {
  const ExprPtr sum = fn("+", {column(0, kInt), column(1, kBig)});
  EXPECT_EQ(to_string(*sum), "(CAST($0 AS BIGINT) + $1)");
  EXPECT_EQ(to_string(*sum->type), "BIGINT NOT NULL");
  EXPECT_EQ(to_string(*fn("coalesce", {column(0, type(TypeKind::kInt)), number(7)})->type), "INT NOT NULL");
  EXPECT_EQ(to_string(*fn("IF", {column(0, type(TypeKind::kBoolean)), number(1), number(0)})->type), "INT");
  EXPECT_EQ(to_string(*fn("GREATEST", {number(1), dec("2.5", 2, 1)})->type), "DECIMAL(11, 1) NOT NULL");
  EXPECT_EQ(to_string(*fn("ROUND", {dec("1.2345", 5, 4), number(2)})->type), "DECIMAL(4, 2) NOT NULL");
  EXPECT_EQ(to_string(*fn("FLOOR", {dec("5.00", 5, 2)})->type), "DECIMAL(5, 0) NOT NULL");
  EXPECT_EQ(to_string(*fn("IN", {column(0, kInt), null_of(type(TypeKind::kInt))})->type), "BOOLEAN");
}

TEST(ResolveCall, RefusesWithAWayOut) {
  const auto error = [](const std::string& name, std::vector<ExprPtr> args) {
    return resolve_call(name, std::move(args)).status();
  };
  EXPECT_EQ(error("UPER", {text("x")}).code(), ErrorCode::kUnknownFunction);
  EXPECT_THAT(error("UPER", {text("x")}).hint(), HasSubstr("UPPER"));
  EXPECT_EQ(error("UPPER", {}).code(), ErrorCode::kUnknownFunction);
  EXPECT_THAT(error("UPPER", {}).message(), HasSubstr("takes 1 argument, found 0"));
  EXPECT_EQ(error("UPPER", {number(1)}).code(), ErrorCode::kTypeMismatch);
  EXPECT_THAT(error("AND", {number(1), boolean(true)}).message(),
              HasSubstr("AND does not take (INT, BOOLEAN)"));
  EXPECT_EQ(error("=", {text("1"), number(1)}).code(), ErrorCode::kTypeMismatch);
  EXPECT_EQ(error("=", {boolean(true), number(1)}).code(), ErrorCode::kTypeMismatch);
  EXPECT_EQ(error("+", {millis(1), months(1)}).code(), ErrorCode::kTypeMismatch);
  EXPECT_EQ(error("-", {of(timestamp(), "2024-01-02"), of(timestamp(), "2024-01-01")}).code(),
            ErrorCode::kTypeMismatch);
  EXPECT_EQ(error("/", {millis(1), number(2)}).code(), ErrorCode::kTypeMismatch);
}

TEST(AggregateType, FollowsFlink) {
  const auto of = [](Aggregate::Kind kind, const TypePtr& input) {
    return to_string(**aggregate_type(kind, input));
  };
  EXPECT_EQ(of(Aggregate::Kind::kCountStar, nullptr), "BIGINT NOT NULL");
  EXPECT_EQ(of(Aggregate::Kind::kCount, text_type()), "BIGINT NOT NULL");
  EXPECT_EQ(of(Aggregate::Kind::kSum, type(TypeKind::kInt)), "INT");
  EXPECT_EQ(of(Aggregate::Kind::kSum, decimal(10, 2)), "DECIMAL(38, 2)");
  EXPECT_EQ(of(Aggregate::Kind::kAvg, type(TypeKind::kBigInt)), "BIGINT");
  EXPECT_EQ(of(Aggregate::Kind::kAvg, decimal(10, 2)), "DECIMAL(38, 6)");
  EXPECT_EQ(of(Aggregate::Kind::kMax, ltz()), "TIMESTAMP_LTZ(3)");
  EXPECT_EQ(aggregate_type(Aggregate::Kind::kSum, text_type()).status().code(), ErrorCode::kTypeMismatch);
}

}  // namespace
}  // namespace strand::expr::testing
