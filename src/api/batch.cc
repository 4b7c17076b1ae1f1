#include "api/batch.h"

#include "columnar/arrow.h"

namespace strandline {

int64_t Batch::rows() const { return rows_->rows.rows(); }

Change Batch::change(int64_t row) const { return static_cast<Change>(rows_->rows.kind(row)); }

void Batch::to_arrow(ArrowSchema* schema, ArrowArray* array) const {
  strand::columnar::export_schema(*rows_->rows.schema(), schema);
  strand::columnar::export_batch(rows_->rows, array);
}

}  // namespace strandline
