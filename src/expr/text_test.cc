// Text functions; values as Flink 2.3.0 gives them.
#include "expr/expr_testing.h"

namespace strand::expr::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::string of(const char* name, const std::vector<ExprPtr>& args) { return value_of(fn(name, args)); }
ExprPtr t(const std::string& value) { return text(value); }
ExprPtr n(int64_t value) { return number(value); }
const TypePtr kText = text_type();

TEST(Text, Concatenation) {
  EXPECT_EQ(of("||", {fn("||", {t("a"), t("b")}), t("c")}), "abc");
  EXPECT_EQ(of("CONCAT", {t("a"), null_of(kText)}), "null");
  EXPECT_EQ(of("CONCAT_WS", {t("-"), t("a"), null_of(kText), t("b")}), "a-b");
  EXPECT_EQ(of("CONCAT_WS", {null_of(kText), t("a"), t("b")}), "null");
  EXPECT_EQ(fn("||", {cast(t("ab"), text_type(2)), cast(t("c"), text_type(3))})->type->precision, 5);
  const auto batch = batch_of({column_of(kText, {"null", "x", "y"})});
  EXPECT_THAT(values_of(fn("||", {t("H"), column(0, kText)}), batch), ElementsAre("null", "Hx", "Hy"));
  EXPECT_THAT(values_of(fn("CONCAT_WS", {t("-"), column(0, kText), t("z")}), batch),
              ElementsAre("z", "x-z", "y-z"));
  EXPECT_THAT(values_of(fn("||", {column(0, kText), t("!")}), keep(batch, {2})), ElementsAre("y!"));
}

TEST(Text, Case) {
  EXPECT_EQ(of("UPPER", {t("abcÄß")}), "ABCÄSS");
  EXPECT_EQ(of("LOWER", {t("ABCÄ ЖΩ")}), "abcä жω");
  EXPECT_EQ(of("LOWER", {t("İ")}), "i");
  EXPECT_EQ(of("UPPER", {t("日本語 ñ")}), "日本語 Ñ");
}

TEST(Text, Parts) {
  EXPECT_EQ(of("SUBSTRING", {t("hello"), n(2)}), "ello");
  EXPECT_EQ(of("SUBSTRING", {t("hello"), n(2), n(3)}), "ell");
  EXPECT_EQ(of("SUBSTR", {t("hello"), n(0), n(2)}), "he");
  EXPECT_EQ(of("SUBSTRING", {t("hello"), n(-3), n(2)}), "ll");
  EXPECT_EQ(of("SUBSTRING", {t("hello"), n(10)}), "");
  EXPECT_EQ(of("SUBSTRING", {t("hello"), n(2), n(0)}), "");
  EXPECT_EQ(of("SUBSTRING", {t("hello"), n(2), n(-1)}), "null");
  EXPECT_EQ(of("SUBSTRING", {t("a😀b"), n(2), n(1)}), "😀");
  EXPECT_EQ(of("LEFT", {t("😀😀"), n(1)}), "😀");
  EXPECT_EQ(of("LEFT", {t("hello"), n(-1)}), "");
  EXPECT_EQ(of("RIGHT", {t("hello"), n(2)}), "lo");
  EXPECT_EQ(of("RIGHT", {t("hello"), n(0)}), "");
}

TEST(Text, Trim) {
  EXPECT_EQ(of("TRIM", {t("  a b  ")}), "a b");
  EXPECT_EQ(of("LTRIM", {t("xxaxx"), t("x")}), "axx");
  EXPECT_EQ(of("RTRIM", {t("xxaxx"), t("x")}), "xxa");
  EXPECT_EQ(of("TRIM", {t("xyaxy"), t("xy")}), "a");
  EXPECT_EQ(of("BTRIM", {t("日a日"), t("日")}), "a");
}

TEST(Text, SplitAndReplace) {
  EXPECT_EQ(of("SPLIT_INDEX", {t("a,b,c"), t(","), n(2)}), "c");
  EXPECT_EQ(of("SPLIT_INDEX", {t("a,b,c"), t(","), n(3)}), "null");
  EXPECT_EQ(of("SPLIT_INDEX", {t("a,b,c"), t(","), n(-1)}), "null");
  EXPECT_EQ(of("SPLIT_INDEX", {t("a,,c"), t(","), n(1)}), "");
  EXPECT_EQ(of("SPLIT_INDEX", {t("a::b"), t("::"), n(1)}), "b");
  EXPECT_EQ(of("SPLIT_INDEX", {t(""), t(","), n(0)}), "null");
  EXPECT_EQ(of("REPLACE", {t("ababab"), t("abab"), t("z")}), "zab");
  EXPECT_EQ(of("REPLACE", {t("abc"), t(""), t("x")}), "xaxbxcx");
  EXPECT_EQ(of("REPEAT", {t("ab"), n(3)}), "ababab");
  EXPECT_EQ(of("REVERSE", {t("a😀b")}), "b😀a");
}

TEST(Text, Pad) {
  EXPECT_EQ(of("LPAD", {t("hi"), n(5), t("?!")}), "?!?hi");
  EXPECT_EQ(of("RPAD", {t("hi"), n(5), t("?!")}), "hi?!?");
  EXPECT_EQ(of("LPAD", {t("hello"), n(3), t("x")}), "hel");
  EXPECT_EQ(of("LPAD", {t("hi"), n(5), t("")}), "null");
  EXPECT_EQ(of("LPAD", {t("hi"), n(-1), t("x")}), "null");
  EXPECT_EQ(of("LPAD", {t("é"), n(3), t("ß")}), "ßßé");
}

TEST(Text, LengthAndPosition) {
  EXPECT_EQ(of("CHAR_LENGTH", {t("a😀b")}), "3");
  EXPECT_EQ(of("CHARACTER_LENGTH", {t("")}), "0");
  EXPECT_EQ(of("POSITION", {t("l"), t("hello")}), "3");
  EXPECT_EQ(of("POSITION", {t("z"), t("hello")}), "0");
  EXPECT_EQ(of("POSITION", {t(""), t("hello")}), "1");
  EXPECT_EQ(of("LOCATE", {t("l"), t("hello"), n(4)}), "4");
  EXPECT_EQ(of("LOCATE", {t("l"), t("hello"), n(5)}), "0");
  EXPECT_EQ(of("INSTR", {t("日本語"), t("語")}), "3");
}

std::string like(const std::string& s, const std::string& pattern, const std::string& escape = "") {
  std::vector<ExprPtr> args = {t(s), t(pattern)};
  if (!escape.empty()) args.push_back(t(escape));
  return value_of(fn("IF", {fn("LIKE", args), t("y"), t("n")}));
}

TEST(Like, Patterns) {
  for (const char* pattern : {"h%", "%l_", "hello", "_____", "%", "%ell%", "%o", "h%l%o", "_e%", "%l%l%"}) {
    EXPECT_EQ(like("hello", pattern), "y") << pattern;
  }
  for (const char* pattern : {"HELLO", "____", "ello", "h%x", "%l%l%l%", "", "%e"}) {
    EXPECT_EQ(like("hello", pattern), "n") << pattern;
  }
  EXPECT_EQ(like("", "%"), "y");
  EXPECT_EQ(like("", ""), "y");
  EXPECT_EQ(like("abc", "a.c"), "n");
  EXPECT_EQ(like("line1\nline2", "line1%"), "y");
  EXPECT_EQ(like("a日c", "a_c"), "y");
}

TEST(Like, Escape) {
  EXPECT_EQ(like("a%b", "a\\%b"), "n");
  EXPECT_EQ(like("a%b", "a\\%b", "\\"), "y");
  EXPECT_EQ(like("axb", "a\\%b", "\\"), "n");
  EXPECT_EQ(like("a_b", "a!_b", "!"), "y");
  EXPECT_THAT(like("a", "a!", "!"), StartsWith("error STRAND-3007"));
}

TEST(Regexp, Match) {
  const auto matches = [](const char* s, const char* pattern) {
    return value_of(fn("IF", {fn("REGEXP", {t(s), t(pattern)}), t("y"), t("n")}));
  };
  EXPECT_EQ(matches("hello world", "o w"), "y");
  EXPECT_EQ(matches("hello", "^l"), "n");
  EXPECT_EQ(matches("hello", "("), "n");
  EXPECT_EQ(of("REGEXP_EXTRACT", {t("foothebar"), t("foo(.*?)(bar)"), n(2)}), "bar");
  EXPECT_EQ(of("REGEXP_EXTRACT", {t("foothebar"), t("foo(.*?)(bar)")}), "foothebar");
  EXPECT_EQ(of("REGEXP_EXTRACT", {t("foothebar"), t("nope"), n(0)}), "null");
  EXPECT_EQ(of("REGEXP_EXTRACT", {t("foothebar"), t("foo(.*?)(bar)"), n(5)}), "null");
  EXPECT_EQ(of("REGEXP_REPLACE", {t("foobar"), t("oo|ar"), t("")}), "fb");
  EXPECT_EQ(of("REGEXP_REPLACE", {t("2024-01-02"), t("(\\d+)-(\\d+)"), t("$2/$1")}), "$2/$1-02");
  EXPECT_EQ(of("REGEXP_REPLACE", {t("abc"), t("["), t("x")}), "null");
}

}  // namespace
}  // namespace strand::expr::testing
