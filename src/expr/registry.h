// The scalar functions: names, parameters, result types, and how a call becomes a node.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/status.h"
#include "expr/compile.h"
#include "expr/node.h"
#include "expr/types.h"
#include "expr/zone.h"

namespace strand::expr {

using Args = std::vector<ExprPtr>;
using Nodes = std::vector<NodePtr>;

/// What building a node needs to know beside the call.
struct Environment {
  Zone zone;
};

/// A scalar function.
///
/// `params` says what it takes, a letter each: t STRING, i INT, l BIGINT, d DOUBLE, n any number, b BOOLEAN,
/// s TIMESTAMP or TIMESTAMP_LTZ, m any of DATE, TIME, TIMESTAMP, a anything. Letters behind `[` may be
/// absent, a final
/// `*` repeats the letter before it any number of times. Integers widen to i, l and d by an implicit CAST.
struct Function {
  std::string_view name;
  std::string_view params;
  /// The result type for arguments that fit `params`; its error where they do not fit each other.
  Result<TypePtr> (*type)(const Args&) = nullptr;
  /// The node of a resolved call.
  Result<NodePtr> (*build)(const Expr&, Nodes, const Environment&) = nullptr;
  /// Instead of `type`: the resolved call itself, where coercions depend on several arguments.
  Result<ExprPtr> (*resolve)(const Function&, Args) = nullptr;
  /// Another value each time: never folded.
  bool varies = false;
};

// One family each; registry.cc puts them together.
std::span<const Function> arithmetic_functions();
std::span<const Function> array_functions();
std::span<const Function> cast_functions();
std::span<const Function> clock_functions();
std::span<const Function> comparison_functions();
std::span<const Function> conditional_functions();
std::span<const Function> constructor_functions();
std::span<const Function> encoding_functions();
std::span<const Function> in_functions();
std::span<const Function> json_functions();
std::span<const Function> json_text_functions();
std::span<const Function> library_functions();
std::span<const Function> logic_functions();
std::span<const Function> map_functions();
std::span<const Function> math_functions();
std::span<const Function> nested_functions();
std::span<const Function> printf_functions();
std::span<const Function> random_functions();
std::span<const Function> regexp_functions();
std::span<const Function> rounding_functions();
std::span<const Function> similar_functions();
std::span<const Function> text_functions();
std::span<const Function> text_part_functions();
std::span<const Function> text_search_functions();
std::span<const Function> time_between_functions();
std::span<const Function> time_field_functions();
std::span<const Function> time_text_functions();
std::span<const Function> window_bound_functions();

const Function* find_function(std::string_view name);

/// The node of a typed expression.
Result<NodePtr> build_node(const Expr& expression, const Environment& environment);

/// Whether the value is the same for every row, batch and run.
bool is_constant(const Expr& e);
/// The value of a node of a constant expression; its error if it has none.
Result<Value> constant_value(Node& node);

/// `+ does not take (STRING, INT)`, kTypeMismatch.
Status does_not_take(std::string_view function, const Args& args, const std::string& hint = {});

// Result types that many functions share.
template <TypeKind kind>
Result<TypePtr> returns(const Args& args) {
  return columnar::make_type(kind, any_nullable(args));
}
template <TypeKind kind>
Result<TypePtr> returns_nullable(const Args&) {
  return columnar::make_type(kind, true);
}
template <TypeKind kind>
Result<TypePtr> returns_not_null(const Args&) {
  return columnar::make_type(kind, false);
}

}  // namespace strand::expr
