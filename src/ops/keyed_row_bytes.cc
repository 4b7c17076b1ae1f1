#include "ops/keyed_row_bytes.h"

#include <algorithm>
#include <numeric>

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
  positions_ = rows;
  write(batch, true);
}
void KeyedRowBytes::read_keys(const columnar::Batch& batch, std::span<const uint32_t> rows) {
  positions_ = rows;
  write(batch, false);
}

/// Column by column: each row knows beforehand how many bytes it has.
void KeyedRowBytes::write(const columnar::Batch& batch, bool whole) {
  columnar::hash_rows(batch, keys_, hashes_);
  sizes_.assign(positions_.size(), 0);
  for (const size_t c : keys_) columnar::add_key_sizes(batch.column(c), positions_, sizes_);
  for (const size_t c : others_) {
    if (whole) columnar::add_key_sizes(batch.column(c), positions_, sizes_);
  }
  const size_t total = std::accumulate(sizes_.begin(), sizes_.end(), size_t{0});
  if (bytes_ == nullptr || total > room_) {  // an empty key is no NULL
    room_ = total + total / 4;
    bytes_ = std::make_unique_for_overwrite<char[]>(room_);
  }
  ends_.resize(positions_.size());
  char* at = bytes_.get();
  for (size_t i = 0; i < ends_.size(); at += sizes_[i++]) ends_[i] = at;
  starts_.assign(ends_.begin(), ends_.end());
  for (const size_t c : keys_) columnar::put_keys(batch.column(c), positions_, ends_);
  key_ends_.assign(ends_.begin(), ends_.end());
  for (const size_t c : others_) {
    if (whole) columnar::put_keys(batch.column(c), positions_, ends_);
  }
}

std::string_view KeyedRowBytes::one(const columnar::Batch& batch, uint32_t row) {
  one_.clear();
  columnar::encode_key(batch, keys_, row, one_);
  columnar::encode_key(batch, others_, row, one_);
  return one_;
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
