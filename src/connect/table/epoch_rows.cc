#include "connect/table/epoch_rows.h"

#include <numeric>

#include "base/bytes.h"

namespace strand::connect::table {

using columnar::Batch;

namespace {

std::string describe(const columnar::Schema& schema) {
  std::string text;
  for (const columnar::Field& field : schema.fields()) {
    text += (text.empty() ? "" : ", ") + field.name + " " +
            columnar::to_string(*columnar::with_nullable(field.type, true));
  }
  return text;
}

void put_rows(const Batch& rows, ByteWriter& out) {
  std::vector<size_t> columns(rows.columns().size());
  std::iota(columns.begin(), columns.end(), size_t{0});
  std::string row_bytes;
  rows.for_each_row([&](int64_t row) {
    row_bytes.clear();
    columnar::encode_key(rows, columns, row, row_bytes);
    out.put(static_cast<uint8_t>(rows.kind(row)));
    out.put_string(row_bytes);
  });
}

Status read_rows(ByteReader& in, uint64_t rows, columnar::BatchBuilder& builder, std::vector<BatchPtr>& out) {
  std::vector<columnar::ColumnBuilder*> columns;
  for (size_t i = 0; i < builder.schema()->size(); ++i) columns.push_back(&builder.column(i));
  for (uint64_t i = 0; i < rows; ++i) {
    STRAND_TRY(const uint8_t kind, in.get<uint8_t>());
    STRAND_TRY(const std::string_view bytes, in.get_string());
    columnar::decode_key(bytes, columns);
    builder.end_row(static_cast<columnar::RowKind>(kind));
    if (builder.rows() == Batch::kMaxRows || i + 1 == rows) {
      out.push_back(std::make_shared<const Batch>(builder.finish()));
    }
  }
  return Status();
}

}  // namespace

std::string encode_epoch_rows(const EpochRows& rows, const columnar::Schema& schema) {
  ByteWriter out;
  out.put_string(describe(schema));
  out.put(rows.subtask);
  out.put(static_cast<uint64_t>(rows.epochs.size()));
  for (const auto& [epoch, batches] : rows.epochs) {
    uint64_t n = 0;
    for (const BatchPtr& batch : batches) n += static_cast<uint64_t>(batch->rows());
    out.put(epoch.value);
    out.put(n);
    for (const BatchPtr& batch : batches) put_rows(*batch, out);
  }
  return out.take();
}

Result<EpochRows> decode_epoch_rows(std::string_view bytes, const columnar::SchemaPtr& schema) {
  ByteReader in(bytes);
  STRAND_TRY(const std::string_view found, in.get_string());
  if (found != describe(*schema)) {
    return Status(ErrorCode::kStateMismatch, "expected uncommitted rows with columns (" + describe(*schema) +
                                                 "), found (" + std::string(found) + ")")
        .hint("run the old statement until its rows are committed (stop with a savepoint), then change it");
  }
  EpochRows rows;
  STRAND_TRY(rows.subtask, in.get<int32_t>());
  STRAND_TRY(const uint64_t epochs, in.get<uint64_t>());
  columnar::BatchBuilder builder(schema);
  for (uint64_t i = 0; i < epochs; ++i) {
    STRAND_TRY(const int64_t epoch, in.get<int64_t>());
    STRAND_TRY(const uint64_t n, in.get<uint64_t>());
    STRAND_OK(read_rows(in, n, builder, rows.epochs[Epoch{epoch}]));
  }
  return rows;
}

}  // namespace strand::connect::table
