// Batches for other libraries, through the Arrow C Data Interface.
#pragma once

#include "columnar/batch.h"
#include "strandline/arrow.h"

namespace strand::columnar {

/// Fills `out`, which must not hold anything, with the columns of a record batch. The receiver owns it and
/// calls `out->release`; nothing of `schema` is needed any more.
///
/// DECIMAL is decimal128, TIMESTAMP(p) a timestamp without zone in ms, us or ns, TIMESTAMP_LTZ the same in
/// UTC, INTERVAL a duration in ms or a number of months, ROW a struct, ARRAY a list, MAP a map, NULL null.
void export_schema(const Schema& schema, ArrowSchema* out);

/// The same for the rows that count, one after the other. Values are not copied (but where a selection hides
/// rows): the array keeps the buffers alive until the receiver calls `out->release`, from any thread. Kinds
/// of rows are not part of it.
void export_batch(const Batch& batch, ArrowArray* out);

}  // namespace strand::columnar
