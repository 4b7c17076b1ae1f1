// Joins rows with what a table has for them now.
#pragma once

#include <memory>
#include <vector>

#include "flow/lookup.h"
#include "ops/operators.h"

namespace strand::ops {

struct LookupJoinOptions {
  SchemaPtr input;
  std::vector<size_t> keys;              // of the input, as the table's key columns
  std::shared_ptr<flow::Lookup> lookup;  // finds rows of the columns behind the input's in `output`
  bool outer = false;                    // a row without partner comes out with NULLs
  ExprPtr condition;                     // what else makes partners, over `output`; or null
  expr::CompileOptions compile;
  SchemaPtr output;  // columns of the input, then of the table
};

/// FOR SYSTEM_TIME AS OF processing time: each row at once, with its kind, beside each row that the table has
/// for its key; rows of one batch with equal keys ask once. A NULL in a key has no partner. Without state.
/// Source: Flink LookupJoinRunner.
Result<OperatorPtr> make_lookup_join(LookupJoinOptions options);

}  // namespace strand::ops
