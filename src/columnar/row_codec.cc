#include "columnar/row_codec.h"

#include <numeric>

namespace strand::columnar {

namespace {

constexpr int kDeepest = 32;  // levels of a nested type

void put_type(const Type& type, ByteWriter& out) {
  out.put(static_cast<uint8_t>(type.kind));
  out.put(static_cast<uint8_t>((type.nullable ? 1 : 0) | (type.fixed ? 2 : 0) | (type.multiset ? 4 : 0)));
  out.put(static_cast<int32_t>(type.precision));
  out.put(static_cast<int32_t>(type.scale));
  out.put(static_cast<uint32_t>(type.children.size()));
  for (const Field& field : type.children) {
    out.put_string(field.name);
    put_type(*field.type, out);
  }
}

Result<std::vector<Field>> read_fields(ByteReader& in, int depth);

Result<TypePtr> read_type(ByteReader& in, int depth) {
  Type type;
  STRAND_TRY(const uint8_t kind, in.get<uint8_t>());
  STRAND_TRY(const uint8_t flags, in.get<uint8_t>());
  STRAND_TRY(type.precision, in.get<int32_t>());
  STRAND_TRY(type.scale, in.get<int32_t>());
  type.kind = static_cast<TypeKind>(kind);
  type.nullable = (flags & 1) != 0;
  type.fixed = (flags & 2) != 0;
  type.multiset = (flags & 4) != 0;
  STRAND_TRY(type.children, read_fields(in, depth + 1));
  return std::make_shared<const Type>(std::move(type));
}

Result<std::vector<Field>> read_fields(ByteReader& in, int depth) {
  STRAND_TRY(const uint32_t count, in.get<uint32_t>());
  if (depth > kDeepest || count > in.remaining())
    return Status(ErrorCode::kCheckpointUnreadable, "expected the columns of rows, found other bytes");
  std::vector<Field> fields;
  for (uint32_t i = 0; i < count; ++i) {
    STRAND_TRY(const std::string_view name, in.get_string());
    STRAND_TRY(TypePtr type, read_type(in, depth));
    fields.push_back({std::string(name), std::move(type)});
  }
  return fields;
}

}  // namespace

void put_rows(const Batch& rows, ByteWriter& out) {
  std::vector<size_t> columns(rows.columns().size());
  std::iota(columns.begin(), columns.end(), size_t{0});
  std::string row_bytes;
  rows.for_each_row([&](int64_t row) {
    row_bytes.clear();
    encode_key(rows, columns, row, row_bytes);
    out.put(static_cast<uint8_t>(rows.kind(row)));
    out.put_string(row_bytes);
  });
}

Status read_rows(ByteReader& in, uint64_t rows, BatchBuilder& builder, std::vector<Batch>& out) {
  std::vector<ColumnBuilder*> columns;
  for (size_t i = 0; i < builder.schema()->size(); ++i) columns.push_back(&builder.column(i));
  for (uint64_t i = 0; i < rows; ++i) {
    STRAND_TRY(const uint8_t kind, in.get<uint8_t>());
    STRAND_TRY(const std::string_view bytes, in.get_string());
    decode_key(bytes, columns);
    builder.end_row(static_cast<RowKind>(kind));
    if (builder.rows() == Batch::kMaxRows || i + 1 == rows) out.push_back(builder.finish());
  }
  return Status();
}

void put_batch(const Batch& batch, ByteWriter& out) {
  out.put(static_cast<uint32_t>(batch.schema()->size()));
  for (const Field& field : batch.schema()->fields()) {
    out.put_string(field.name);
    put_type(*field.type, out);
  }
  out.put(static_cast<uint64_t>(batch.rows()));
  put_rows(batch, out);
}

Result<std::vector<Batch>> read_batch(ByteReader& in) {
  STRAND_TRY(std::vector<Field> fields, read_fields(in, 0));
  STRAND_TRY(const uint64_t rows, in.get<uint64_t>());
  BatchBuilder builder(std::make_shared<const Schema>(std::move(fields)));
  std::vector<Batch> batches;
  STRAND_OK(read_rows(in, rows, builder, batches));
  return batches;
}

}  // namespace strand::columnar
