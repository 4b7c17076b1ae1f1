// The contract of a table that finds rows by key.
#pragma once

#include <cstdint>
#include <vector>

#include "base/status.h"
#include "columnar/batch.h"

namespace strand::flow {

/// Finds the rows that a table has for keys, as it is when it is asked. An operator asks from its thread and
/// waits for the answer, so that what comes out does not depend on how long it takes. What it answers is no
/// part of any snapshot: after a restart rows that are read again may find others.
class Lookup {
 public:
  virtual ~Lookup() = default;

  /// Appends the rows whose key is that of row `row` of `keys` (the columns are the key's, none is NULL) to
  /// `found`.
  virtual Status find(const columnar::Batch& keys, int64_t row, columnar::BatchBuilder& found) = 0;
};

}  // namespace strand::flow
