// Arithmetic and mathematical functions; values as Flink 2.3.0 gives them, and against a naive evaluator.
#include <gtest/gtest.h>

#include <rapidcheck/gtest.h>

#include <cmath>
#include <optional>

#include "expr/expr_testing.h"

namespace strand::expr::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TypePtr kInt = type(TypeKind::kInt);
const TypePtr kBig = type(TypeKind::kBigInt);
const TypePtr kDouble = type(TypeKind::kDouble);

std::string binary(const char* op, const ExprPtr& a, const ExprPtr& b) { return typed(fn(op, {a, b})); }

TEST(Integers, TruncateAndWrap) {
  EXPECT_EQ(binary("/", number(-7), number(2)), "INT NOT NULL -3");
  EXPECT_EQ(binary("MOD", number(-7), number(3)), "INT NOT NULL -1");
  EXPECT_EQ(binary("%", number(7), number(-3)), "INT NOT NULL 1");
  const auto tiny = [](int64_t v) { return number(v, TypeKind::kTinyInt); };
  EXPECT_EQ(binary("+", tiny(100), tiny(100)), "TINYINT NOT NULL -56");
  EXPECT_EQ(binary("+", number(2'147'483'647), number(1)), "INT NOT NULL -2147483648");
  EXPECT_EQ(binary("*", bigint(2'147'483'647), number(2)), "BIGINT NOT NULL 4294967294");
  EXPECT_EQ(binary("+", bigint(INT64_MAX), number(1)), "BIGINT NOT NULL -9223372036854775808");
  EXPECT_EQ(binary("/", bigint(INT64_MIN), bigint(-1)), "BIGINT NOT NULL -9223372036854775808");
  EXPECT_EQ(binary("%", bigint(INT64_MIN), bigint(-1)), "BIGINT NOT NULL 0");
  EXPECT_EQ(typed(fn("-", {number(INT32_MIN)})), "INT NOT NULL -2147483648");
  EXPECT_EQ(typed(fn("ABS", {number(INT32_MIN)})), "INT NOT NULL -2147483648");
  EXPECT_EQ(binary("+", number(1), null()), "INT null");
}

TEST(Integers, DivisionByZeroNamesTheRow) {
  const auto batch = batch_of({column_of(kInt, {"4", "1"}), column_of(kInt, {"2", "0"})});
  EXPECT_THAT(values_of(fn("/", {column(0, kInt), column(1, kInt)}), batch),
              ElementsAre(HasSubstr("STRAND-3007  division by zero: /(1, 0)")));
  EXPECT_THAT(value_of(fn("/", {number(1), number(0)})), HasSubstr("division by zero"));
  EXPECT_EQ(value_of(fn("/", {null_of(kInt), number(0)})), "null");
}

// 0.00000000045 has a 4 behind its ninth decimal: it is not rounded up by way of 0.0000000005.
TEST(Decimals, AreRoundedOnce) {
  EXPECT_EQ(value_of(fn("*", {dec("0.0000000009", 38, 10), dec("0.5", 38, 38)})), "0.000000000");
  EXPECT_EQ(value_of(fn("*", {dec("0.0000000010", 38, 10), dec("0.5", 38, 38)})), "0.000000001");
}

// The dividend, scaled for the division, needs more than 128 bits twice over.
TEST(Decimals, OfManyDecimalsDivide) {
  const ExprPtr quotient = fn("/", {dec("1.25", 5, 2), dec("0.00005", 38, 38)});
  EXPECT_EQ(value_of(quotient), "25000.000000");
  EXPECT_EQ(value_of(fn("%", {dec("12345678901234567890", 38, 0), dec("0.00000000000000000007", 38, 38)})),
            "0.00000000000000000002000000000000000000");
}

TEST(Decimals, AsRecordedFromFlink) {
  const auto batch =
      batch_of({column_of(decimal(10, 2), {"12345678.99", "-0.01", "7.50", "null", "0.00"}),
                column_of(decimal(38, 10),
                          {"1234567890123456789012345678.0123456789", "-0.0000000001", "7.5", "null", "0"}),
                column_of(kBig, {"9223372036854775807", "-9223372036854775808", "7", "null", "0"}),
                column_of(kInt, {"2147483647", "-2147483648", "7", "null", "0"})});
  const ExprPtr c = column(0, decimal(10, 2));
  const ExprPtr k = column(1, decimal(38, 10));
  const ExprPtr b = column(2, kBig);
  const ExprPtr i = column(3, kInt);
  const auto of = [&](const char* op, const ExprPtr& x, const ExprPtr& y) {
    return values_of(fn(op, {x, y}), batch);
  };
  EXPECT_THAT(of("+", c, c), ElementsAre("24691357.98", "-0.02", "15.00", "null", "0.00"));
  EXPECT_THAT(of("*", c, c), ElementsAre("152415789724127.4201", "0.0001", "56.2500", "null", "0.0000"));
  EXPECT_THAT(of("/", c, number(3)), ElementsAre("4115226.3300000000000", "-0.0033333333333",
                                                 "2.5000000000000", "null", "0.0000000000000"));
  EXPECT_THAT(of("*", c, i), ElementsAre("26512143742136476.53", "21474836.48", "52.50", "null", "0.00"));
  EXPECT_THAT(of("+", k, number(1)), ElementsAre("1234567890123456789012345679.012345679", "1.000000000",
                                                 "8.500000000", "null", "1.000000000"));
  EXPECT_THAT(of("*", k, k), ElementsAre("null", "0.000000", "56.250000", "null", "0.000000"));
  EXPECT_THAT(of("/", k, number(3)), ElementsAre("411522630041152263004115226.0041152263", "0.0000000000",
                                                 "2.5000000000", "null", "0.0000000000"));
  EXPECT_THAT(of("+", c, k), ElementsAre("1234567890123456789024691357.002345679", "-0.010000000",
                                         "15.000000000", "null", "0.000000000"));
  EXPECT_THAT(of("*", b, dec("0.908", 4, 3)),
              ElementsAre("8374821809464136432.756", "-8374821809464136433.664", "6.356", "null", "0.000"));
  EXPECT_THAT(of("*", i, dec("1.5", 2, 1)),
              ElementsAre("3221225470.5", "-3221225472.0", "10.5", "null", "0.0"));
  EXPECT_THAT(values_of(fn("ROUND", {c, number(1)}), batch),
              ElementsAre("12345679.0", "0.0", "7.5", "null", "0.0"));
  EXPECT_THAT(values_of(fn("FLOOR", {c}), batch), ElementsAre("12345678", "-1", "7", "null", "0"));
  EXPECT_THAT(values_of(fn("SIGN", {c}), batch), ElementsAre("1.00", "-1.00", "1.00", "null", "0.00"));
  EXPECT_THAT(of("/", c, c), ElementsAre(HasSubstr("division by zero")));
}

TEST(Doubles, AsRecordedFromFlink) {
  EXPECT_EQ(binary("+", real(0.1), real(0.2)), "DOUBLE NOT NULL 0.30000000000000004");
  EXPECT_EQ(binary("*", real(1e308), number(10)), "DOUBLE NOT NULL Infinity");
  EXPECT_EQ(binary("/", real(1), real(0)), "DOUBLE NOT NULL Infinity");
  EXPECT_EQ(binary("+", of(type(TypeKind::kFloat), "0.1"), of(type(TypeKind::kFloat), "0.2")),
            "FLOAT NOT NULL 0.3");
}

TEST(Rounding, AsRecordedFromFlink) {
  EXPECT_EQ(typed(fn("ROUND", {dec("2.5", 2, 1)})), "DECIMAL(2, 0) NOT NULL 3");
  EXPECT_EQ(typed(fn("ROUND", {dec("-2.5", 2, 1)})), "DECIMAL(2, 0) NOT NULL -3");
  EXPECT_EQ(value_of(fn("ROUND", {real(-2.5)})), "-3.0");
  EXPECT_EQ(value_of(fn("ROUND", {real(1.005), number(2)})), "1.01");
  EXPECT_EQ(typed(fn("ROUND", {dec("1.2355", 5, 4), number(3)})), "DECIMAL(5, 3) NOT NULL 1.236");
  EXPECT_EQ(typed(fn("ROUND", {number(1250), number(-2)})), "INT NOT NULL 1300");
  EXPECT_EQ(typed(fn("TRUNCATE", {number(1299), number(-2)})), "INT NOT NULL 1200");
  EXPECT_EQ(typed(fn("TRUNCATE", {dec("-1.2399", 5, 4), number(2)})), "DECIMAL(4, 2) NOT NULL -1.23");
  EXPECT_EQ(value_of(fn("TRUNCATE", {real(42.324), number(2)})), "42.32");
  EXPECT_EQ(value_of(fn("CEIL", {dec("-1.2", 2, 1)})), "-1");
  EXPECT_EQ(value_of(fn("CEILING", {real(1.2)})), "2.0");
  EXPECT_EQ(value_of(fn("FLOOR", {dec("-1.2", 2, 1)})), "-2");
  EXPECT_EQ(typed(fn("FLOOR", {number(5)})), "INT NOT NULL 5");
  EXPECT_THAT(value_of(fn("ROUND", {real(std::nan(""))})), HasSubstr("has no decimal digits"));
}

TEST(Math, Functions) {
  EXPECT_EQ(value_of(fn("POWER", {number(2), number(10)})), "1024.0");
  EXPECT_EQ(value_of(fn("SQRT", {number(-1)})), "NaN");
  EXPECT_EQ(value_of(fn("LN", {number(0)})), "-Infinity");
  EXPECT_EQ(value_of(fn("LOG", {number(2), number(8)})), "3.0");
  EXPECT_EQ(value_of(fn("DEGREES", {fn("PI", {})})), "180.0");
  EXPECT_EQ(typed(fn("SIGN", {dec("-1.5", 2, 1)})), "DECIMAL(2, 1) NOT NULL -1.0");
  EXPECT_EQ(value_of(fn("GREATEST", {number(1), number(3), number(2)})), "3");
  EXPECT_EQ(value_of(fn("LEAST", {text("b"), text("a")})), "a");
  EXPECT_EQ(value_of(fn("LEAST", {dec("1.5", 2, 1), real(1.25)})), "1.25");
  EXPECT_THAT(value_of(fn("LEAST", {dec("1.5", 2, 1), real(std::nan(""))})),
              HasSubstr("compared with a DECIMAL"));
  EXPECT_EQ(typed(fn("GREATEST", {number(1), null_of(kInt)})), "INT null");
  const auto batch = batch_of({column_of(kBig, {"5", "1", "null"}), column_of(kBig, {"3", "9", "1"})});
  EXPECT_THAT(values_of(fn("LEAST", {fn("GREATEST", {column(0, kBig), column(1, kBig)}), bigint(7)}), batch),
              ElementsAre("5", "7", "null"));
}

// --- Against a naive evaluator, row by row
// -----------------------------------------------------------------------

using Cell = std::optional<int64_t>;

std::optional<int64_t> naive(const std::string& op, int64_t a, int64_t b) {
  const auto x = static_cast<uint64_t>(a);
  const auto y = static_cast<uint64_t>(b);
  if (op == "+") return static_cast<int64_t>(x + y);
  if (op == "-") return static_cast<int64_t>(x - y);
  if (op == "*") return static_cast<int64_t>(x * y);
  if (op == "/") return b == -1 ? static_cast<int64_t>(0 - x) : a / b;
  if (op == "%") return b == -1 ? 0 : a % b;
  if (op == "<") return a < b;
  if (op == "<=") return a <= b;
  if (op == ">") return a > b;
  if (op == ">=") return a >= b;
  return op == "=" ? a == b : a != b;
}

ColumnPtr bigints(const std::vector<Cell>& cells) {
  columnar::ColumnBuilder out(kBig);
  for (const Cell& cell : cells) {
    if (cell)
      out.append<int64_t>(*cell);
    else
      out.append_null();
  }
  return out.finish();
}

RC_GTEST_PROP(AgainstNaive, EveryOperatorOverSlicesSelectionsAndConstants, ()) {
  const int64_t length = *rc::gen::inRange<int64_t>(1, 300);
  const auto cell =
      rc::gen::oneOf(rc::gen::map(rc::gen::inRange<int64_t>(-3, 4), [](int64_t v) { return Cell(v); }),
                     rc::gen::map(rc::gen::arbitrary<int64_t>(), [](int64_t v) { return Cell(v); }),
                     rc::gen::just(Cell()), rc::gen::element(Cell(INT64_MIN), Cell(INT64_MAX)));
  const auto cells = rc::gen::container<std::vector<Cell>>(static_cast<size_t>(length), cell);
  const std::vector<Cell> a = *cells;
  std::vector<Cell> b = *cells;
  const bool constant = *rc::gen::arbitrary<bool>();
  if (constant) std::fill(b.begin(), b.end(), b[0]);
  const std::string op =
      *rc::gen::element<std::string>("+", "-", "*", "/", "%", "=", "<>", "<", "<=", ">", ">=");

  // Columns that begin inside a byte of their bitmaps.
  const int64_t from = *rc::gen::inRange<int64_t>(0, length);
  const auto batch =
      batch_of({bigints(a)->slice(from, length - from), bigints(b)->slice(from, length - from)});
  columnar::Selection rows;
  for (int64_t row = 0; row < length - from; ++row) {
    const Cell divisor = b[static_cast<size_t>(from + row)];
    const bool divides = op == "/" || op == "%";
    if (*rc::gen::arbitrary<bool>() && !(divides && divisor == 0)) rows.push_back(static_cast<uint32_t>(row));
  }
  const ExprPtr right = !constant ? column(1, kBig) : b[0] ? literal(*b[0], kBig) : null_of(kBig);
  const ExprPtr e = fn(op, {column(0, kBig), right});
  auto compiled = compile(e, {});
  const auto shown = keep(batch, rows);
  const Result<ColumnPtr> result = (*compiled)->eval(shown, context());
  RC_ASSERT(result.ok());

  std::vector<uint32_t> expected_rows;
  for (const uint32_t row : rows) {
    const Cell x = a[static_cast<size_t>(from) + row];
    const Cell y = b[static_cast<size_t>(from) + row];
    RC_ASSERT((*result)->is_null(row) == (!x || !y));
    if (!x || !y) continue;
    const int64_t expected = *naive(op, *x, *y);
    const bool comparison = e->type->kind == TypeKind::kBoolean;
    RC_ASSERT((comparison ? (*result)->boolean(row) : (*result)->values<int64_t>()[row]) == expected);
    if (comparison && expected != 0) expected_rows.push_back(row);
  }
  if (e->type->kind == TypeKind::kBoolean) {
    const Result<SelectionPtr> passed = (*compiled)->select(shown, context());
    RC_ASSERT(passed.ok());
    RC_ASSERT(**passed == expected_rows);
  }
}

RC_GTEST_PROP(AgainstNaive, LogicOfThreeValues, ()) {
  const auto length = static_cast<size_t>(*rc::gen::inRange(1, 200));
  const TypePtr kBool = type(TypeKind::kBoolean);
  const auto cells = rc::gen::container<std::vector<int>>(length, rc::gen::inRange(0, 3));  // 2 is NULL
  const std::vector<int> x = *cells, y = *cells, z = *cells;
  const auto build = [&](const std::vector<int>& in) {
    columnar::ColumnBuilder out(kBool);
    for (const int v : in) v == 2 ? out.append_null() : out.append_boolean(v == 1);
    return out.finish();
  };
  const auto batch = batch_of({build(x), build(y), build(z)});
  const ExprPtr e =
      fn("OR", {fn("AND", {column(0, kBool), column(1, kBool)}), fn("NOT", {column(2, kBool)})});
  const auto conjunction = [](int a, int b) { return a == 0 || b == 0 ? 0 : a == 2 || b == 2 ? 2 : 1; };
  const auto negation = [](int a) { return a == 2 ? 2 : 1 - a; };
  auto compiled = compile(e, {});
  const Result<ColumnPtr> result = (*compiled)->eval(batch, context());
  std::vector<uint32_t> expected;
  for (size_t i = 0; i < length; ++i) {
    const int want = negation(conjunction(negation(conjunction(x[i], y[i])), z[i]));
    const auto row = static_cast<int64_t>(i);
    RC_ASSERT(((*result)->is_null(row) ? 2 : (*result)->boolean(row) ? 1 : 0) == want);
    if (want == 1) expected.push_back(static_cast<uint32_t>(i));
  }
  const Result<SelectionPtr> passed = (*compiled)->select(batch, context());
  RC_ASSERT(passed.ok());
  RC_ASSERT((*passed == nullptr && expected.size() == length) ||
            (*passed != nullptr && **passed == expected));
}

}  // namespace
}  // namespace strand::expr::testing
