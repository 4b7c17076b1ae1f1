// Random typed expressions over the registry of functions.
#pragma once

#include "base/random.h"
#include "columnar/batch.h"
#include "expr/expr.h"

namespace strand::fuzz {

/// An expression over the columns of `schema`, at most `depth` calls inside each other, resolved as the
/// binder does it: of any function that gives the same answer each time.
expr::ExprPtr random_tree(const columnar::Schema& schema, int depth, Random& random);

}  // namespace strand::fuzz
