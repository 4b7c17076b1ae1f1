#include "api/expression.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "base/text.h"
#include "expr/compile.h"

namespace strandline {

using detail::ExpressionNode;
using strand::columnar::make_type;
using strand::columnar::TypeKind;

namespace {
Expression node(ExpressionNode n) { return Expression(std::make_shared<const ExpressionNode>(std::move(n))); }
Expression literal(strand::expr::Scalar value, TypeKind kind) {
  return node({ExpressionNode::Kind::kLiteral, {}, std::move(value), make_type(kind, false), {}});
}
}  // namespace

Expression Expression::as(std::string name) const {
  return strandline::node({ExpressionNode::Kind::kNamed, std::move(name), {}, nullptr, {*this}});
}
Expression col(std::string name) {
  return node({ExpressionNode::Kind::kColumn, std::move(name), {}, nullptr, {}});
}
Expression lit(int64_t value) { return literal(value, TypeKind::kBigInt); }
Expression lit(double value) { return literal(value, TypeKind::kDouble); }
Expression lit(bool value) { return literal(value, TypeKind::kBoolean); }
Expression lit(std::string value) { return literal(std::move(value), TypeKind::kString); }
Expression interval(int64_t millis) { return literal(millis, TypeKind::kIntervalMillis); }
Expression null_of(std::string sql_type) {
  return cast(node({ExpressionNode::Kind::kLiteral, {}, std::monostate{}, make_type(TypeKind::kNull), {}}),
              std::move(sql_type));
}
Expression call(std::string function, std::vector<Expression> arguments) {
  return node({ExpressionNode::Kind::kCall, std::move(function), {}, nullptr, std::move(arguments)});
}
Expression cast(Expression value, std::string sql_type) {
  return node({ExpressionNode::Kind::kCast, std::move(sql_type), {}, nullptr, {std::move(value)}});
}
Expression current_watermark(Expression event_time) {
  return call("CURRENT_WATERMARK", {std::move(event_time)});
}

Expression operator+(const Expression& a, const Expression& b) { return call("+", {a, b}); }
Expression operator-(const Expression& a, const Expression& b) { return call("-", {a, b}); }
Expression operator*(const Expression& a, const Expression& b) { return call("*", {a, b}); }
Expression operator/(const Expression& a, const Expression& b) { return call("/", {a, b}); }
Expression operator==(const Expression& a, const Expression& b) { return call("=", {a, b}); }
Expression operator!=(const Expression& a, const Expression& b) { return call("<>", {a, b}); }
Expression operator<(const Expression& a, const Expression& b) { return call("<", {a, b}); }
Expression operator<=(const Expression& a, const Expression& b) { return call("<=", {a, b}); }
Expression operator>(const Expression& a, const Expression& b) { return call(">", {a, b}); }
Expression operator>=(const Expression& a, const Expression& b) { return call(">=", {a, b}); }
Expression operator&&(const Expression& a, const Expression& b) { return call("AND", {a, b}); }
Expression operator||(const Expression& a, const Expression& b) { return call("OR", {a, b}); }
Expression operator!(const Expression& a) { return call("NOT", {a}); }
Expression is_null(const Expression& a) { return call("IS NULL", {a}); }
Expression is_not_null(const Expression& a) { return call("IS NOT NULL", {a}); }

}  // namespace strandline

namespace strand::api {

using strandline::detail::ExpressionNode;

Result<expr::ExprPtr> bind(const strandline::Expression& expression, const columnar::Schema& schema) {
  const ExpressionNode& node = *expression.node();
  switch (node.kind) {
    case ExpressionNode::Kind::kColumn: {
      if (const auto index = schema.find(node.name)) return expr::column(*index, schema[*index].type);
      std::vector<std::string> names;
      for (const auto& field : schema.fields()) names.push_back(field.name);
      Status error(ErrorCode::kUnknownColumn, "the stream has no column '" + node.name + "'");
      const auto near = nearest(node.name, names);
      return std::move(error).hint(near ? "did you mean '" + *near + "'?" : "select it before");
    }
    case ExpressionNode::Kind::kLiteral:
      return expr::literal(node.literal, node.type);
    case ExpressionNode::Kind::kNamed:
      return bind(node.args[0], schema);
    case ExpressionNode::Kind::kCast: {
      STRAND_TRY(auto value, bind(node.args[0], schema));
      STRAND_TRY(auto type, parse_type(node.name));
      return expr::resolve_cast(std::move(value), std::move(type));
    }
    case ExpressionNode::Kind::kCall: {
      std::vector<expr::ExprPtr> args;
      for (const auto& arg : node.args) {
        STRAND_TRY(auto bound, bind(arg, schema));
        args.push_back(std::move(bound));
      }
      return expr::resolve_call(node.name, std::move(args));
    }
  }
  return Status(ErrorCode::kInternal, "an expression of no kind");
}

std::string name_of(const strandline::Expression& expression) {
  const ExpressionNode& node = *expression.node();
  const bool named = node.kind == ExpressionNode::Kind::kNamed || node.kind == ExpressionNode::Kind::kColumn;
  return named ? node.name : std::string();
}

Result<columnar::TypePtr> parse_type(const std::string& text) {
  using columnar::TypeKind;
  std::string word;
  std::vector<int> numbers;
  for (size_t i = 0; i < text.size();) {
    const auto c = static_cast<unsigned char>(text[i]);
    if (std::isdigit(c)) {
      size_t used = 0;
      numbers.push_back(std::stoi(text.substr(i, 9), &used));
      i += used;
      continue;
    }
    if (std::isalpha(c) || c == '_') word += static_cast<char>(std::toupper(c));
    ++i;
  }
  const bool nullable = !word.ends_with("NOTNULL");
  if (!nullable) word.resize(word.size() - 7);
  const auto number = [&](size_t i, int fallback) { return i < numbers.size() ? numbers[i] : fallback; };
  static constexpr std::array kPlain = {
      std::pair{"STRING", TypeKind::kString},   std::pair{"BIGINT", TypeKind::kBigInt},
      std::pair{"INT", TypeKind::kInt},         std::pair{"SMALLINT", TypeKind::kSmallInt},
      std::pair{"TINYINT", TypeKind::kTinyInt}, std::pair{"BOOLEAN", TypeKind::kBoolean},
      std::pair{"FLOAT", TypeKind::kFloat},     std::pair{"DOUBLE", TypeKind::kDouble},
      std::pair{"BYTES", TypeKind::kBytes},     std::pair{"DATE", TypeKind::kDate},
      std::pair{"TIME", TypeKind::kTime},
  };
  for (const auto& [name, kind] : kPlain) {
    if (word == name) return columnar::make_type(kind, nullable);
  }
  if (word == "DECIMAL") return columnar::decimal_type(number(0, 10), number(1, 0), nullable);
  if (word == "TIMESTAMP") return columnar::timestamp_type(number(0, 6), false, nullable);
  if (word == "TIMESTAMP_LTZ") return columnar::timestamp_type(number(0, 6), true, nullable);
  return Status(ErrorCode::kTypeMismatch, "'" + text + "' is no type")
      .hint("for example STRING, BIGINT, TIMESTAMP_LTZ(3)");
}

}  // namespace strand::api
