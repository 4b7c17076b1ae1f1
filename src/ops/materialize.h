// Changes by one key made changes by another.
#pragma once

#include <vector>

#include "ops/operators.h"

namespace strand::ops {

struct MaterializeOptions {
  SchemaPtr input;
  std::vector<size_t> keys;  // of the table that is written
};

/// Several rows of a changelog may have one key of the table that they are written to: the last of them
/// stands there, and when it is taken back the one before it stands there again. The first row of a key is
/// +I, another one +U, and -D says that none is left. What is taken back but was never seen changes nothing.
/// Keeps every row; tells the standing ones as held rows after a restore. Source: Flink
/// SinkUpsertMaterializer.
Result<OperatorPtr> make_materialize(MaterializeOptions options);

}  // namespace strand::ops
