// Expressions over the columns of a stream, written in C++.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace strandline {

namespace detail {
struct ExpressionNode;
}

/// An expression by column names: `col("device_ms") + lit(5)`. Names and types are resolved when it is used
/// on a stream, with the rules of Flink SQL; what does not fit is an error of the job. Immutable, cheap to
/// copy.
class Expression {
 public:
  explicit Expression(std::shared_ptr<const detail::ExpressionNode> node) : node_(std::move(node)) {}
  /// The same value under a name.
  Expression as(std::string name) const;
  const std::shared_ptr<const detail::ExpressionNode>& node() const { return node_; }

 private:
  std::shared_ptr<const detail::ExpressionNode> node_;
};

/// A column of the stream.
Expression col(std::string name);
Expression lit(int64_t value);
Expression lit(double value);
Expression lit(bool value);
Expression lit(std::string value);
inline Expression lit(const char* value) { return lit(std::string(value)); }
inline Expression lit(int value) { return lit(static_cast<int64_t>(value)); }
/// A day-time interval in milliseconds.
Expression interval(int64_t millis);
/// NULL of a SQL type: `BIGINT`, `STRING`, `TIMESTAMP_LTZ(3)`.
Expression null_of(std::string sql_type);
/// Any scalar function of docs/sql/functions.md: `call("GREATEST", {a, b})`.
Expression call(std::string function, std::vector<Expression> arguments);
Expression cast(Expression value, std::string sql_type);
/// Flink's CURRENT_WATERMARK: NULL before the first watermark; after a restore at least the floor.
Expression current_watermark(Expression event_time);

Expression operator+(const Expression& a, const Expression& b);
Expression operator-(const Expression& a, const Expression& b);
Expression operator*(const Expression& a, const Expression& b);
Expression operator/(const Expression& a, const Expression& b);
Expression operator==(const Expression& a, const Expression& b);
Expression operator!=(const Expression& a, const Expression& b);
Expression operator<(const Expression& a, const Expression& b);
Expression operator<=(const Expression& a, const Expression& b);
Expression operator>(const Expression& a, const Expression& b);
Expression operator>=(const Expression& a, const Expression& b);
Expression operator&&(const Expression& a, const Expression& b);
Expression operator||(const Expression& a, const Expression& b);
Expression operator!(const Expression& a);
Expression is_null(const Expression& a);
Expression is_not_null(const Expression& a);

}  // namespace strandline
