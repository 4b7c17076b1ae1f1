// The elements of collections as rows.
#pragma once

#include <vector>

#include "ops/operators.h"

namespace strand::ops {

struct UnnestOptions {
  SchemaPtr input;
  size_t column = 0;         // ARRAY, MAP or MULTISET; or BIGINT: the row that many times
  std::vector<size_t> keep;  // the columns of the input that come out
  bool outer = false;        // a row without elements comes once, with NULLs for them
  bool ordinality = false;
  SchemaPtr output;  // `keep`; the element, or key and value of a MAP, or nothing; the number of the element
};

/// Each row once for each element of its collection, in their order and with the row's kind. A row whose
/// collection is empty or NULL is filtered. Columns are gathered, not built row by row. Passes held rows.
/// Source: Flink UnnestRowsFunction, ReplicateRowsFunction.
OperatorPtr make_unnest(UnnestOptions options);

}  // namespace strand::ops
