// Rows as bytes in state files.
#pragma once

#include "base/bytes.h"
#include "columnar/batch.h"

namespace strand::columnar {

/// Appends the rows that count, each with its kind.
void put_rows(const Batch& rows, ByteWriter& out);
/// Reads `rows` rows that `put_rows` wrote into batches of `builder`'s schema.
Status read_rows(ByteReader& in, uint64_t rows, BatchBuilder& builder, std::vector<Batch>& out);

/// Rows behind their schema: who reads them need not know it.
void put_batch(const Batch& batch, ByteWriter& out);
/// Errors: kCheckpointUnreadable.
Result<std::vector<Batch>> read_batch(ByteReader& in);

}  // namespace strand::columnar
