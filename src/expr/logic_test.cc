// Three-valued logic, comparisons, IN, CASE and their relatives.
#include "expr/expr_testing.h"

namespace strand::expr::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::StartsWith;

const TypePtr kBool = type(TypeKind::kBoolean);
const TypePtr kInt = type(TypeKind::kInt);

/// T, F or N for every row.
std::string truth(const ExprPtr& e, const columnar::Batch& batch) {
  auto compiled = compile(e, {});
  const Result<ColumnPtr> column = (*compiled)->eval(batch, context());
  EXPECT_TRUE(column.ok());
  std::string out;
  batch.for_each_row([&](int64_t row) {
    out += (*column)->is_null(row) ? 'N' : (*column)->boolean(row) ? 'T' : 'F';
  });
  return out;
}

class TruthTables : public ::testing::Test {
 protected:
  const columnar::Batch batch_ = batch_of(
      {column_of(kBool, {"true", "true", "true", "false", "false", "false", "null", "null", "null"}),
       column_of(kBool, {"true", "false", "null", "true", "false", "null", "true", "false", "null"})});
  const ExprPtr x_ = column(0, kBool);
  const ExprPtr y_ = column(1, kBool);
};

TEST_F(TruthTables, AndOrNot) {
  EXPECT_EQ(truth(fn("AND", {x_, y_}), batch_), "TFNFFFNFN");
  EXPECT_EQ(truth(fn("OR", {x_, y_}), batch_), "TTTTFNTNN");
  EXPECT_EQ(truth(fn("NOT", {x_}), batch_), "FFFTTTNNN");
}

TEST_F(TruthTables, Is) {
  EXPECT_EQ(truth(fn("IS TRUE", {x_}), batch_), "TTTFFFFFF");
  EXPECT_EQ(truth(fn("IS FALSE", {x_}), batch_), "FFFTTTFFF");
  EXPECT_EQ(truth(fn("IS UNKNOWN", {x_}), batch_), "FFFFFFTTT");
  EXPECT_EQ(truth(fn("IS NOT TRUE", {x_}), batch_), "FFFTTTTTT");
  EXPECT_EQ(truth(fn("IS NOT FALSE", {x_}), batch_), "TTTFFFTTT");
  EXPECT_EQ(truth(fn("IS NOT UNKNOWN", {x_}), batch_), "TTTTTTFFF");
  EXPECT_EQ(truth(fn("IS NULL", {x_}), batch_), "FFFFFFTTT");
  EXPECT_EQ(truth(fn("IS NOT NULL", {x_}), batch_), "TTTTTTFFF");
}

TEST_F(TruthTables, Comparison) {
  EXPECT_EQ(truth(fn("=", {x_, y_}), batch_), "TFNFTNNNN");
  EXPECT_EQ(truth(fn("<>", {x_, y_}), batch_), "FTNTFNNNN");
  EXPECT_EQ(truth(fn(">", {x_, y_}), batch_), "FTNFFNNNN");
  EXPECT_EQ(truth(fn("<=", {x_, y_}), batch_), "TFNTTNNNN");
  EXPECT_EQ(truth(fn("IS DISTINCT FROM", {x_, y_}), batch_), "FTTTFTTTF");
  EXPECT_EQ(truth(fn("IS NOT DISTINCT FROM", {x_, y_}), batch_), "TFFFTFFFT");
}

TEST_F(TruthTables, ChoiceBetweenThem) {
  EXPECT_EQ(truth(fn("COALESCE", {x_, y_}), batch_), "TTTFFFTFN");
  EXPECT_EQ(truth(fn("NULLIF", {x_, y_}), batch_), "NTTFNFNNN");
  EXPECT_THAT(values_of(fn("IF", {x_, number(1), number(0)}), batch_),
              ElementsAre("1", "1", "1", "0", "0", "0", "0", "0", "0"));
  EXPECT_THAT(values_of(fn("CASE", {x_, text("t"), fn("NOT", {x_}), text("f"), text("n")}), batch_),
              ElementsAre("t", "t", "t", "f", "f", "f", "n", "n", "n"));
}

TEST_F(TruthTables, SelectKeepsWhatIsTrue) {
  EXPECT_THAT(selected(fn("AND", {x_, y_}), batch_), ElementsAre(0));
  EXPECT_THAT(selected(fn("OR", {x_, y_}), batch_), ElementsAre(0, 1, 2, 3, 6));
  EXPECT_THAT(selected(fn("NOT", {x_}), batch_), ElementsAre(3, 4, 5));
  EXPECT_THAT(selected(fn("OR", {x_, fn("IS NOT TRUE", {x_})}), batch_), ElementsAre(-1));
  EXPECT_THAT(selected(boolean(true), batch_), ElementsAre(-1));
  EXPECT_THAT(selected(null_of(kBool), batch_), ElementsAre());
}

TEST(Select, WorksWithinASelection) {
  const auto all = batch_of({column_of(kInt, {"1", "2", "null", "4", "5"})});
  const auto some = keep(all, {1, 2, 4});
  const ExprPtr v = column(0, kInt);
  EXPECT_THAT(selected(fn(">", {v, number(1)}), some), ElementsAre(1, 4));
  EXPECT_THAT(selected(fn("AND", {fn(">", {v, number(1)}), fn("<", {v, number(5)})}), some), ElementsAre(1));
  EXPECT_THAT(selected(fn("OR", {fn("=", {v, number(5)}), fn("=", {v, number(2)})}), some),
              ElementsAre(1, 4));
  // All of the selection passes: the selection itself.
  auto compiled = compile(fn("IS NOT FALSE", {fn(">", {v, number(0)})}), {});
  EXPECT_EQ(*(*compiled)->select(some, context()), some.selection());
}

TEST(Comparison, OfNumbers) {
  EXPECT_EQ(value_of(fn("IF", {fn("=", {number(1), dec("1.0", 2, 1)}), text("y"), text("n")})), "y");
  EXPECT_EQ(value_of(fn("IF", {fn("<", {number(1), text("2")}), text("y"), text("n")})), "y");
  EXPECT_EQ(value_of(fn("IF", {fn("<", {text("10"), number(9)}), text("y"), text("n")})), "n");
  const auto batch = batch_of({column_of(type(TypeKind::kDouble), {"1.1", "-0.0", "NaN", "null"}),
                               column_of(type(TypeKind::kFloat), {"1.1", "-0.0", "NaN", "null"})});
  const ExprPtr d = column(0, type(TypeKind::kDouble));
  EXPECT_EQ(truth(fn(">", {d, number(1)}), batch), "TFFN");
  EXPECT_EQ(truth(fn("<", {d, number(1)}), batch), "FTFN");
  EXPECT_EQ(truth(fn("=", {d, fn("-", {d})}), batch), "FTFN");
  EXPECT_EQ(truth(fn("IN", {column(1, type(TypeKind::kFloat)), dec("1.1", 2, 1)}), batch), "TFFN");
}

TEST(Comparison, OfTexts) {
  const std::string shared(30, 'x');
  const auto batch =
      batch_of({column_of(text_type(), {"view", "click", "", "null", "viewer", shared + "a", "a "})});
  const ExprPtr s = column(0, text_type());
  EXPECT_EQ(truth(fn("=", {s, text("view")}), batch), "TFFNFFF");
  EXPECT_EQ(truth(fn("=", {text(""), s}), batch), "FFTNFFF");
  EXPECT_EQ(truth(fn("<>", {s, text("view")}), batch), "FTTNTTT");
  EXPECT_EQ(truth(fn("=", {s, text(shared + "a")}), batch), "FFFNFTF");
  EXPECT_EQ(truth(fn("=", {s, text(shared + "b")}), batch), "FFFNFFF");
  EXPECT_EQ(truth(fn("=", {s, text("a")}), batch), "FFFNFFF");
  EXPECT_EQ(truth(fn(">", {s, text("view")}), batch), "FFFNTTF");
  EXPECT_EQ(truth(fn("<", {text("é"), text("日")}), one_row()), "T");
}

TEST(In, FindsLiteralsAndKnowsNull) {
  const auto batch =
      batch_of({column_of(kInt, {"null", "1", "3"}), column_of(text_type(), {"null", "a", "c"})});
  const ExprPtr i = column(0, kInt);
  const ExprPtr s = column(1, text_type());
  EXPECT_EQ(truth(fn("IN", {i, number(1), number(2)}), batch), "NTF");
  EXPECT_EQ(truth(fn("NOT", {fn("IN", {i, number(1), number(2)})}), batch), "NFT");
  EXPECT_EQ(truth(fn("IN", {i, number(1), null_of(kInt)}), batch), "NTN");
  EXPECT_EQ(truth(fn("NOT", {fn("IN", {i, number(2), null_of(kInt)})}), batch), "NNN");
  EXPECT_EQ(truth(fn("IN", {s, text("a"), text("b")}), batch), "NTF");
  EXPECT_EQ(truth(fn("IN", {i, i, number(7)}), batch), "NTT");
  EXPECT_EQ(truth(fn("IN", {i, bigint(1), number(9)}), batch), "NTF");
  std::vector<ExprPtr> many = {s};
  std::vector<ExprPtr> numbers = {i};
  for (int n = 0; n < 50; ++n) {
    many.push_back(text("item-" + std::to_string(n)));
    numbers.push_back(number(n * 3));
  }
  many.push_back(text("c"));
  EXPECT_EQ(truth(fn("IN", many), batch), "NFT");
  EXPECT_EQ(truth(fn("IN", numbers), batch), "NFT");
}

TEST(Case, AsRecordedFromFlink) {
  const auto batch =
      batch_of({column_of(text_type(), {"a", "b", "null"}), column_of(kInt, {"1", "2", "null"})});
  const ExprPtr k = column(0, text_type());
  const ExprPtr v = column(1, kInt);
  const auto is = [&](int64_t n) { return fn("=", {v, number(n)}); };
  EXPECT_THAT(values_of(fn("CASE", {is(1), text("one"), is(2), text("two")}), batch),
              ElementsAre("one", "two", "null"));
  EXPECT_THAT(values_of(fn("CASE", {is(1), number(1), is(2), dec("2.5", 2, 1), bigint(3)}), batch),
              ElementsAre("1.0", "2.5", "3.0"));
  EXPECT_THAT(values_of(fn("CASE", {fn("IS NULL", {k}), number(0), v}), batch), ElementsAre("1", "2", "0"));
  EXPECT_THAT(values_of(fn("CASE", {is(1), null_of(kInt), number(2)}), batch), ElementsAre("null", "2", "2"));
  EXPECT_THAT(values_of(fn("COALESCE", {null(), v, number(7)}), batch), ElementsAre("1", "2", "7"));
  EXPECT_THAT(values_of(fn("NULLIF", {v, number(2)}), batch), ElementsAre("1", "null", "null"));
  EXPECT_THAT(values_of(fn("NULLIF", {k, text("a")}), batch), ElementsAre("null", "b", "null"));
  EXPECT_THAT(values_of(fn("IFNULL", {k, text("none")}), batch), ElementsAre("a", "b", "none"));
}

TEST(Case, OfNothingButNullIsNull) {
  const auto batch = batch_of({column_of(kInt, {"1"})});
  const ExprPtr one = fn("=", {column(0, kInt), number(1)});
  for (const ExprPtr& e :
       {fn("CASE", {one, null()}), fn("IF", {one, null(), null()}), fn("COALESCE", {null(), null()}),
        fn("NULLIF", {null(), number(1)}), fn("GREATEST", {null(), null()})}) {
    EXPECT_THAT(values_of(e, batch), ElementsAre("null"));
    EXPECT_THAT(values_of(cast(e, kInt), batch), ElementsAre("null"));
  }
}

// A branch must not see rows that do not take it, and a second condition none that the first has decided.
TEST(Lazy, WhatARowDoesNotNeedCannotFail) {
  const auto batch =
      batch_of({column_of(kInt, {"4", "0", "null", "2"}), column_of(text_type(), {"8", "x", "y", "6"})});
  const ExprPtr n = column(0, kInt);
  const ExprPtr s = column(1, text_type());
  const ExprPtr quotient = fn("/", {number(8), n});
  const ExprPtr not_zero = fn("<>", {n, number(0)});
  EXPECT_THAT(values_of(quotient, batch), ElementsAre(StartsWith("error STRAND-3007")));
  EXPECT_THAT(values_of(fn("CASE", {not_zero, quotient, number(-1)}), batch),
              ElementsAre("2", "-1", "-1", "4"));
  EXPECT_THAT(values_of(fn("CASE", {not_zero, cast(s, kInt), number(-1)}), batch),
              ElementsAre("8", "-1", "-1", "6"));
  const ExprPtr large = fn(">", {quotient, number(3)});
  EXPECT_EQ(truth(fn("AND", {not_zero, large}), batch), "FFNT");
  EXPECT_THAT(selected(fn("AND", {not_zero, large}), batch), ElementsAre(3));
  EXPECT_EQ(truth(fn("OR", {fn("=", {n, number(0)}), large}), batch), "FTNT");
  EXPECT_THAT(selected(fn("OR", {fn("=", {n, number(0)}), large}), batch), ElementsAre(1, 3));
  EXPECT_THAT(
      values_of(fn("COALESCE", {fn("NULLIF", {n, number(4)}), fn("/", {number(9), n})}), keep(batch, {0, 1})),
      ElementsAre("2", "0"));
}

TEST(Lazy, HiddenRowsCannotFail) {
  const auto batch = batch_of({column_of(kInt, {"4", "0", "2"}), column_of(text_type(), {"8", "x", "6"})});
  const auto shown = keep(batch, {0, 2});
  const ExprPtr quotient = fn("/", {number(8), column(0, kInt)});
  const ExprPtr parsed = cast(column(1, text_type()), kInt);
  EXPECT_THAT(values_of(quotient, shown), ElementsAre("2", "4"));
  EXPECT_THAT(values_of(parsed, shown), ElementsAre("8", "6"));
  EXPECT_THAT(values_of(fn("%", {parsed, column(0, kInt)}), shown), ElementsAre("0", "0"));
  EXPECT_THAT(values_of(fn("+", {quotient, parsed}), shown), ElementsAre("10", "10"));
  EXPECT_THAT(selected(fn(">", {quotient, number(2)}), shown), ElementsAre(2));
  EXPECT_THAT(values_of(quotient, keep(batch, {})), ElementsAre());
}

}  // namespace
}  // namespace strand::expr::testing
