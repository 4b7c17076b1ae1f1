#include <algorithm>
#include <array>

#include "base/text.h"
#include "sql/parser_core.h"

namespace strand::sql {

using columnar::make_type;
using columnar::TypeKind;
using columnar::TypePtr;

namespace {

constexpr int kDecimalDigitsMax = 38;

struct SimpleType {
  std::string_view name;
  TypeKind kind;
};
constexpr std::array kSimple = {
    SimpleType{"BOOLEAN", TypeKind::kBoolean},   SimpleType{"TINYINT", TypeKind::kTinyInt},
    SimpleType{"SMALLINT", TypeKind::kSmallInt}, SimpleType{"INT", TypeKind::kInt},
    SimpleType{"INTEGER", TypeKind::kInt},       SimpleType{"BIGINT", TypeKind::kBigInt},
    SimpleType{"FLOAT", TypeKind::kFloat},       SimpleType{"STRING", TypeKind::kString},
    SimpleType{"BYTES", TypeKind::kBytes},       SimpleType{"DATE", TypeKind::kDate},
};
constexpr std::array<std::string_view, 23> kNames = {
    "BOOLEAN", "TINYINT", "SMALLINT",  "INT",           "INTEGER", "BIGINT", "FLOAT",  "DOUBLE",
    "DECIMAL", "NUMERIC", "STRING",    "CHAR",          "VARCHAR", "BYTES",  "BINARY", "VARBINARY",
    "DATE",    "TIME",    "TIMESTAMP", "TIMESTAMP_LTZ", "ARRAY",   "MAP",    "ROW"};

}  // namespace

Result<TypePtr> Parser::type() {
  const Deeper deeper(*this);
  STRAND_OK(check_depth());
  STRAND_TRY(TypePtr parsed, type_without_null());
  if (take_words({"NOT", "NULL"})) {
    parsed = columnar::with_nullable(parsed, false);
  } else {
    take_word("NULL");
  }
  for (int links = 1; is_word("ARRAY") && !is_symbol("<", 1); ++links) {  // INT ARRAY
    STRAND_OK(links > kNestingMax ? check_chain(kChainMax + 1) : Status());
    take();
    columnar::Type array{.kind = TypeKind::kArray};
    array.children.push_back({"element", parsed});
    parsed = std::make_shared<const columnar::Type>(std::move(array));
  }
  return parsed;
}

/// A number above the most that there is counts as that, as in Flink.
Result<int> Parser::optional_length(int fallback, int most) {
  if (!take_symbol("(")) return fallback;
  STRAND_TRY(const int length, small_number("a number"));
  STRAND_OK(expect_symbol(")", "behind the number"));
  return std::min(length, most);
}

Result<TypePtr> Parser::type_without_null() {
  const Place place = here();
  if (peek().kind != Token::Kind::kWord) return expected("a type");
  for (const SimpleType& simple : kSimple) {
    if (take_word(simple.name)) return make_type(simple.kind);
  }
  if (take_word("DOUBLE")) {
    take_word("PRECISION");
    return make_type(TypeKind::kDouble);
  }
  if (is_word("TIMESTAMP") || is_word("TIMESTAMP_LTZ")) return timestamp_type();
  if (is_word("ROW")) return row_type();
  if (is_word("TIME")) {
    take();
    STRAND_TRY(const int digits, optional_length(0, 9));
    return std::make_shared<const columnar::Type>(
        columnar::Type{.kind = TypeKind::kTime, .precision = digits});
  }
  if (is_word("CHAR") || is_word("VARCHAR") || is_word("BINARY") || is_word("VARBINARY")) {
    const std::string word = take().upper;
    STRAND_TRY(const int length, optional_length(word == "CHAR" || word == "BINARY" ? 1 : 0, 999'999'999));
    const TypeKind kind = word.ends_with("CHAR") ? TypeKind::kString : TypeKind::kBytes;
    if (length == 0 && (word == "CHAR" || word == "BINARY")) {
      return error_at(ErrorCode::kTypeMismatch, place, "a " + word + " has one character or more");
    }
    return columnar::text_type(kind, length, length > 0 && (word == "CHAR" || word == "BINARY"));
  }
  if (is_word("DECIMAL") || is_word("NUMERIC") || is_word("DEC")) {
    take();
    int precision = 10;
    int scale = 0;
    if (take_symbol("(")) {
      STRAND_TRY(precision, small_number("the number of digits"));
      if (take_symbol(",")) {
        STRAND_TRY(scale, small_number("the number of decimals"));
      }
      STRAND_OK(expect_symbol(")", "behind the number of digits"));
    }
    if (precision < 1 || scale > precision) {
      return error_at(ErrorCode::kTypeMismatch, place,
                      "a DECIMAL has at least one digit, and no more decimals than digits")
          .hint("such as DECIMAL(12, 2)");
    }
    precision = std::min(precision, kDecimalDigitsMax);  // as in Flink, without a word
    scale = std::min(scale, precision);
    return columnar::decimal_type(precision, scale);
  }
  if (take_word("MULTISET")) {
    STRAND_OK(expect_symbol("<"));
    STRAND_TRY(TypePtr element, type());
    STRAND_OK(expect_symbol(">"));
    return columnar::multiset_type(std::move(element));
  }
  if (is_word("ARRAY") || is_word("MAP")) {
    columnar::Type nested{.kind = take().upper == "MAP" ? TypeKind::kMap : TypeKind::kArray};
    STRAND_OK(expect_symbol("<"));
    STRAND_TRY(TypePtr first, type());
    nested.children.push_back({nested.kind == TypeKind::kMap ? "key" : "element", std::move(first)});
    if (nested.kind == TypeKind::kMap) {
      STRAND_OK(expect_symbol(",", "between key and value"));
      STRAND_TRY(TypePtr value, type());
      nested.children.push_back({"value", std::move(value)});
    }
    STRAND_OK(expect_symbol(">"));
    return std::make_shared<const columnar::Type>(std::move(nested));
  }
  for (const char* word : {"RAW", "VARIANT", "INTERVAL"}) {
    if (is_word(word))
      return unsupported(place, std::string(word) + " is not supported as a column type", "use STRING");
  }
  Status error = error_at(ErrorCode::kSyntax, place, "expected a type, found " + token_text(peek()));
  const auto near = nearest(peek().upper, kNames);
  return std::move(error).hint(near ? "did you mean " + *near + "?" : "such as STRING, BIGINT, TIMESTAMP(3)");
}

Result<TypePtr> Parser::timestamp_type() {
  bool ltz = take().upper == "TIMESTAMP_LTZ";
  STRAND_TRY(const int digits, optional_length(6, 9));
  if (take_word("WITH")) {
    const bool local = take_word("LOCAL");
    STRAND_OK(expect_word("TIME"));
    STRAND_OK(expect_word("ZONE"));
    if (!local)
      return unsupported(here(), "TIMESTAMP WITH TIME ZONE is not supported", "use TIMESTAMP_LTZ(3)");
    ltz = true;
  } else if (take_word("WITHOUT")) {
    STRAND_OK(expect_word("TIME"));
    STRAND_OK(expect_word("ZONE"));
  }
  return columnar::timestamp_type(digits, ltz);
}

Result<TypePtr> Parser::row_type() {
  take();
  const bool angle = is_symbol("<");
  STRAND_OK(expect_symbol(angle ? "<" : "(", "behind ROW"));
  columnar::Type row{.kind = TypeKind::kRow};
  do {
    STRAND_TRY(std::string name, identifier("a field name"));
    STRAND_TRY(TypePtr field, type());
    if (peek().kind == Token::Kind::kString) take();  // a comment
    row.children.push_back({std::move(name), std::move(field)});
  } while (take_symbol(","));
  STRAND_OK(expect_symbol(angle ? ">" : ")", "or ',' behind a field"));
  return std::make_shared<const columnar::Type>(std::move(row));
}

}  // namespace strand::sql
