// The calls of the reference that are NULL where an argument is.
#pragma once

#include <vector>

#include "tests/fuzz/reference.h"

namespace strand::fuzz {

/// Whether values of both types are ordered by their scalars alone.
bool comparable(const columnar::Type& a, const columnar::Type& b);
/// -1, 0, 1; 2 where there is no order (NaN).
int order(const expr::Scalar& a, const expr::Scalar& b);

/// Whether `computed` has this call for the types of its arguments.
bool is_known(const expr::Expr& e);
/// The value of a call whose arguments are all there.
Reference computed(const expr::Expr& e, const std::vector<expr::Scalar>& args);

}  // namespace strand::fuzz
