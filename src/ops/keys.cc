#include "ops/keys.h"

namespace strand::ops {

using columnar::Batch;
using columnar::Column;
using columnar::ColumnBuilder;
using columnar::TypeKind;

Keys::Keys(columnar::SchemaPtr schema, std::vector<size_t> columns)
    : schema_(std::move(schema)), columns_(std::move(columns)), form_(form_of(*schema_, columns_)) {}

Keys::Form Keys::form_of(const columnar::Schema& schema, const std::vector<size_t>& columns) {
  if (columns.size() != 1) return Form::kEncoded;
  const TypeKind kind = schema[columns[0]].type->kind;
  if (kind == TypeKind::kString || kind == TypeKind::kBytes) return Form::kText;
  const bool plain = columnar::fixed_width(kind) > 0 && kind != TypeKind::kFloat && kind != TypeKind::kDouble;
  return plain ? Form::kInteger : Form::kEncoded;
}

void Keys::read(const Batch& batch, std::span<const uint32_t> rows) {
  columnar::hash_rows(batch, columns_, all_hashes_);
  hashes_.resize(rows.size());
  keys_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) hashes_[i] = all_hashes_[rows[i]];
  if (form_ == Form::kEncoded) {
    encoded_.clear();
    std::vector<size_t> ends(rows.size());
    for (size_t i = 0; i < rows.size(); ++i) {
      columnar::encode_key(batch, columns_, rows[i], encoded_);
      ends[i] = encoded_.size();
    }
    size_t from = 0;
    for (size_t i = 0; i < rows.size(); from = ends[i++]) keys_[i] = {encoded_.data() + from, ends[i] - from};
    return;
  }
  const Column& column = batch.column(columns_[0]);
  const char* bytes = column.parts().values->data();
  if (form_ == Form::kText) {
    const int32_t* offsets = column.offsets();
    for (size_t i = 0; i < rows.size(); ++i) {
      const int32_t from = offsets[rows[i]];
      keys_[i] = {bytes + from, static_cast<size_t>(offsets[rows[i] + 1] - from)};
    }
  } else {
    const auto width = static_cast<size_t>(columnar::fixed_width(column.type()->kind));
    bytes += static_cast<size_t>(column.parts().offset) * width;
    for (size_t i = 0; i < rows.size(); ++i) keys_[i] = {bytes + rows[i] * width, width};
  }
  if (!column.has_nulls()) return;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (column.is_null(rows[i])) keys_[i] = {};
  }
}

void Keys::append(std::string_view key, columnar::BatchBuilder& out) const {
  if (form_ == Form::kEncoded) {
    std::vector<ColumnBuilder*> columns;
    for (size_t i = 0; i < columns_.size(); ++i) columns.push_back(&out.column(i));
    return columnar::decode_key(key, columns);
  }
  ColumnBuilder& column = out.column(0);
  if (key.data() == nullptr) return column.append_null();
  if (form_ == Form::kText) return column.append_string(key);
  const auto append = [&](auto value) {
    std::memcpy(&value, key.data(), sizeof value);
    column.append(value);
  };
  switch (key.size()) {
    case 1:
      return append(int8_t{});
    case 2:
      return append(int16_t{});
    case 4:
      return append(int32_t{});
    case 8:
      return append(int64_t{});
    default:
      return append(columnar::Int128{});
  }
}

}  // namespace strand::ops
