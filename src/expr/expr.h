// Typed expressions: what a plan holds. Making them executable is compile.h.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "columnar/column.h"
#include "columnar/type.h"

namespace strand::expr {

using columnar::Int128;
using columnar::TypePtr;

/// A constant. Integers, dates, times, timestamps and intervals are int64 in the unit of their type; DECIMAL
/// is the unscaled Int128; STRING and BYTES are strings; NULL is monostate.
using Scalar = std::variant<std::monostate, bool, int64_t, double, Int128, std::string>;

struct Expr;
using ExprPtr = std::shared_ptr<const Expr>;

/// An immutable typed expression over the columns of one input. Built by the SQL binder and by the C++ API;
/// all types are resolved and coercions are explicit CAST calls, so that nothing about meaning is left to the
/// evaluator.
struct Expr {
  enum class Kind : uint8_t { kColumn, kLiteral, kCall };
  Kind kind = Kind::kLiteral;
  TypePtr type;
  size_t column = 0;     // kColumn: index in the input
  Scalar literal;        // kLiteral
  std::string function;  // kCall: canonical upper-case name, operators too: "+", "=", "AND", "CASE", "CAST"
  std::vector<ExprPtr> args = {};
};

ExprPtr column(size_t index, TypePtr type);
ExprPtr literal(Scalar value, TypePtr type);
/// A call whose result type was resolved by the registry.
ExprPtr call(std::string function, std::vector<ExprPtr> args, TypePtr type);

bool equal(const Expr& a, const Expr& b);
/// As SQL text with `$i` for columns, or with the names of `schema`.
std::string to_string(const Expr& e, const columnar::Schema* schema = nullptr);
/// The columns it reads, ascending.
std::vector<size_t> columns_of(const Expr& e);
/// The same expression over an input whose columns have moved: column i becomes mapping[i].
ExprPtr remap(const ExprPtr& e, const std::vector<size_t>& mapping);
/// Whether it calls CURRENT_WATERMARK: its operator judges by event time and needs a floor.
bool reads_watermark(const Expr& e);
/// Whether its value depends on the wall clock (PROCTIME, CURRENT_TIMESTAMP, NOW, ...).
bool reads_clock(const Expr& e);

}  // namespace strand::expr
