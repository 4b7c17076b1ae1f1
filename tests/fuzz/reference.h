// Expressions a row at a time: slow, and short enough to be read and believed.
#pragma once

#include <functional>
#include <optional>

#include "expr/expr.h"

namespace strand::fuzz {

/// A value that is not nested, or that the row fails.
struct Reference {
  expr::Scalar value;
  bool fails = false;
};

/// The value of an expression whose outermost call the reference knows: arithmetic, comparisons, logic, CASE,
/// COALESCE, IN, casts between numbers, decimals and text, simple functions of text, dates and times.
/// `engine` gives the values of the parts that it does not know. Nothing for other calls.
std::optional<Reference> reference_value(const expr::ExprPtr& e,
                                         const std::function<Reference(const expr::ExprPtr&)>& engine);

}  // namespace strand::fuzz
