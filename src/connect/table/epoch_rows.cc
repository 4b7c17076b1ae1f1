#include "connect/table/epoch_rows.h"

#include "columnar/row_codec.h"

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
    for (const BatchPtr& batch : batches) columnar::put_rows(*batch, out);
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
    std::vector<Batch> batches;
    STRAND_OK(columnar::read_rows(in, n, builder, batches));
    std::vector<BatchPtr>& of_epoch = rows.epochs[Epoch{epoch}];
    for (Batch& batch : batches) of_epoch.push_back(std::make_shared<const Batch>(std::move(batch)));
  }
  return rows;
}

}  // namespace strand::connect::table
