// What the tests of this folder share: short ways to write expressions, batches and what comes out.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "columnar/batch.h"
#include "expr/compile.h"
#include "expr/expr.h"

namespace strand::expr::testing {

using columnar::TypeKind;

// Types.
inline TypePtr type(TypeKind kind) { return columnar::make_type(kind); }
inline TypePtr text_type(int length = 0) {
  columnar::Type t = *columnar::make_type(TypeKind::kString);
  t.precision = length;
  return std::make_shared<const columnar::Type>(std::move(t));
}
inline TypePtr decimal(int precision, int scale) { return columnar::decimal_type(precision, scale); }
inline TypePtr timestamp(int precision = 3) { return columnar::timestamp_type(precision, false); }
inline TypePtr ltz(int precision = 3) { return columnar::timestamp_type(precision, true); }
inline TypePtr sure(const TypePtr& t) { return columnar::with_nullable(t, false); }

// Literals, NOT NULL.
inline ExprPtr number(int64_t value, TypeKind kind = TypeKind::kInt) {
  return literal(value, sure(type(kind)));
}
inline ExprPtr bigint(int64_t value) { return number(value, TypeKind::kBigInt); }
inline ExprPtr real(double value) { return literal(value, sure(type(TypeKind::kDouble))); }
inline ExprPtr text(const std::string& value) { return literal(value, sure(text_type())); }
inline ExprPtr boolean(bool value) { return literal(value, sure(type(TypeKind::kBoolean))); }
inline ExprPtr null() { return literal(std::monostate{}, type(TypeKind::kNull)); }
inline ExprPtr null_of(const TypePtr& t) { return literal(std::monostate{}, t); }
inline ExprPtr millis(int64_t value) { return literal(value, sure(type(TypeKind::kIntervalMillis))); }
inline ExprPtr months(int64_t value) { return literal(value, sure(type(TypeKind::kIntervalMonths))); }

/// Resolved; a failure stops the test.
inline ExprPtr fn(const std::string& name, std::vector<ExprPtr> args) {
  Result<ExprPtr> result = resolve_call(name, std::move(args));
  if (!result.ok()) {
    ADD_FAILURE() << result.status().to_string();
    return null();
  }
  return *result;
}
inline ExprPtr cast(const ExprPtr& value, const TypePtr& to) {
  Result<ExprPtr> result = resolve_cast(value, to);
  if (!result.ok()) {
    ADD_FAILURE() << result.status().to_string();
    return null();
  }
  return *result;
}
inline ExprPtr try_cast(const ExprPtr& value, const TypePtr& to) {
  Result<ExprPtr> result = resolve_cast(value, to, true);
  EXPECT_TRUE(result.ok());
  return *result;
}
/// A literal of any type from its text: `of(timestamp(), "2024-01-02 03:04:05")`.
inline ExprPtr of(const TypePtr& t, const std::string& value) { return cast(text(value), sure(t)); }
inline ExprPtr dec(const std::string& value, int precision, int scale) {
  return of(decimal(precision, scale), value);
}

/// `0.50` and so on: what a column holds, one text a row.
inline std::vector<std::string> rows_of(const columnar::Column& column) {
  std::vector<std::string> out;
  for (int64_t i = 0; i < column.length(); ++i) out.push_back(columnar::value_to_string(column, i));
  return out;
}

inline columnar::Batch one_row() { return {std::make_shared<columnar::Schema>(), {}, 1}; }

inline EvalContext context(int64_t now = 0, EventTime judge = EventTime::min()) {
  return {WallTime{now}, judge};
}

/// The value of an expression without columns, or `error NUMBER: message`.
inline std::string value_of(const ExprPtr& e, const std::string& zone = "UTC",
                            const EvalContext& at = context()) {
  auto compiled = compile(e, {zone});
  if (!compiled.ok()) return "error " + compiled.status().to_string();
  const Result<ColumnPtr> column = (*compiled)->eval(one_row(), at);
  if (!column.ok()) return "error " + column.status().to_string();
  return columnar::value_to_string(**column, 0);
}
/// The same with its type: `INT NOT NULL 3`.
inline std::string typed(const ExprPtr& e, const std::string& zone = "UTC") {
  return to_string(*e->type) + " " + value_of(e, zone);
}

/// A column from texts, "null" for NULL.
inline ColumnPtr column_of(const TypePtr& t, const std::vector<std::string>& values) {
  columnar::ColumnBuilder out(t);
  for (const std::string& value : values) {
    if (value == "null") {
      out.append_null();
      continue;
    }
    auto compiled = compile(cast(text(value), t), {});
    const Result<ColumnPtr> one = (*compiled)->eval(one_row(), context());
    EXPECT_TRUE(one.ok()) << value;
    out.append_from(**one, 0);
  }
  return out.finish();
}

inline columnar::Batch batch_of(const std::vector<ColumnPtr>& columns) {
  std::vector<columnar::Field> fields;
  for (size_t i = 0; i < columns.size(); ++i) fields.push_back({"c" + std::to_string(i), columns[i]->type()});
  return {std::make_shared<columnar::Schema>(std::move(fields)), columns, columns[0]->length()};
}

/// The values for every row of a batch, or one `error ...`.
inline std::vector<std::string> values_of(const ExprPtr& e, const columnar::Batch& batch,
                                          const EvalContext& at = context(),
                                          const std::string& zone = "UTC") {
  auto compiled = compile(e, {zone});
  if (!compiled.ok()) return {"error " + compiled.status().to_string()};
  const Result<ColumnPtr> column = (*compiled)->eval(batch, at);
  if (!column.ok()) return {"error " + column.status().to_string()};
  EXPECT_EQ((*column)->length(), batch.physical_rows());
  std::vector<std::string> out;
  batch.for_each_row([&](int64_t row) { out.push_back(columnar::value_to_string(**column, row)); });
  return out;
}

/// The selected rows; {-1} for "all, no selection needed", {-2} for an error.
inline std::vector<int64_t> selected(const ExprPtr& e, const columnar::Batch& batch,
                                     const EvalContext& at = context()) {
  auto compiled = compile(e, {});
  if (!compiled.ok()) return {-2};
  const Result<SelectionPtr> rows = (*compiled)->select(batch, at);
  if (!rows.ok()) return {-2};
  if (*rows == nullptr) return {-1};
  return {(*rows)->begin(), (*rows)->end()};
}

inline columnar::Batch keep(const columnar::Batch& batch, const columnar::Selection& rows) {
  return batch.with_selection(std::make_shared<const columnar::Selection>(rows));
}

}  // namespace strand::expr::testing
