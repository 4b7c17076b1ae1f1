#include "ops/keyed_row_bytes.h"

#include <algorithm>

#include "base/hash.h"

namespace strand::ops {

using columnar::ColumnBuilder;
using columnar::KeyPart;

KeyedRowBytes::KeyedRowBytes(columnar::SchemaPtr schema, std::vector<size_t> keys)
    : schema_(std::move(schema)), keys_(std::move(keys)) {
  for (size_t c = 0; c < schema_->size(); ++c) {
    if (std::ranges::find(keys_, c) == keys_.end()) others_.push_back(c);
  }
}

void KeyedRowBytes::read(const columnar::Batch& batch, std::span<const uint32_t> rows) {
  columnar::hash_rows(batch, keys_, hashes_);
  positions_ = rows;
  bytes_.clear();
  ends_.assign(1, 0);
  for (const uint32_t row : rows) {
    columnar::encode_key(batch, keys_, row, bytes_);
    ends_.push_back(bytes_.size());
    columnar::encode_key(batch, others_, row, bytes_);
    ends_.push_back(bytes_.size());
  }
  row_hashes_.resize(rows.size());
  for (size_t i = 0; i < rows.size(); ++i) row_hashes_[i] = hash64(row(i));
}

std::vector<KeyPart> KeyedRowBytes::parts(columnar::BatchBuilder& out, size_t first) const {
  std::vector<ColumnBuilder*> to;
  for (size_t c = 0; c < schema_->size(); ++c) to.push_back(&out.column(first + c));
  return parts(to);
}

std::vector<KeyPart> KeyedRowBytes::parts(std::span<ColumnBuilder* const> to) const {
  std::vector<KeyPart> parts;
  std::vector<bool> placed(schema_->size());
  for (const std::vector<size_t>* columns : {&keys_, &others_}) {
    for (const size_t c : *columns) {
      parts.push_back({(*schema_)[c].type.get(), placed[c] ? nullptr : to[c]});  // a column may be two keys
      placed[c] = true;
    }
  }
  while (!parts.empty() && parts.back().to == nullptr) parts.pop_back();
  return parts;
}

std::string_view KeyedRowBytes::key_in(std::string_view row) const {
  std::vector<KeyPart> parts;
  for (const size_t c : keys_) parts.push_back({(*schema_)[c].type.get(), nullptr});
  return row.substr(0, columnar::decode_key_parts(row, parts));
}

}  // namespace strand::ops
