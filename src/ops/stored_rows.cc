#include "ops/stored_rows.h"

namespace strand::ops {

Status StoredRowsReader::row(columnar::BatchBuilder& out) {
  STRAND_TRY(const std::string_view encoded, in_.get_string());
  std::vector<columnar::ColumnBuilder*> columns;
  for (size_t c = 0; c < out.schema()->size(); ++c) columns.push_back(&out.column(c));
  columnar::decode_key(encoded, columns);
  out.end_row();
  return Status();
}

Result<columnar::Batch> StoredRowsReader::next(const std::function<Status(ByteReader&)>& head) {
  constexpr int64_t kRows = 4'096;
  while (!done() && builder_.rows() < kRows) {
    STRAND_OK(head(in_));
    STRAND_OK(row(builder_));
  }
  return builder_.finish();
}

}  // namespace strand::ops
