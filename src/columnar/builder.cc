#include "columnar/builder.h"

#include <algorithm>

#include "columnar/bits.h"

namespace strand::columnar {

namespace {

constexpr int64_t kFirstRows = 16;
constexpr int64_t kStringBytesMax = INT32_MAX;

/// Puts `used` bytes of `buffer` into one of at least `size` bytes.
void regrow(std::shared_ptr<Buffer>& buffer, size_t used, int64_t size) {
  auto bigger = Buffer::allocate(static_cast<size_t>(size));
  if (buffer != nullptr && used > 0) std::memcpy(bigger->mutable_data(), buffer->data(), used);
  buffer = std::move(bigger);
}

int64_t capacity_of(const std::shared_ptr<Buffer>& buffer) {
  return buffer == nullptr ? 0 : static_cast<int64_t>(buffer->capacity());
}

}  // namespace

ColumnBuilder::ColumnBuilder(TypePtr type) : type_(std::move(type)), width_(fixed_width(type_->kind)) {
  for (const Field& field : type_->children) children_.push_back(std::make_unique<ColumnBuilder>(field.type));
}

void ColumnBuilder::reserve(int64_t rows) {
  if (rows <= length_) return;
  if (width_ > 0 && values_capacity_ < rows * width_) {
    regrow(values_, static_cast<size_t>(length_ * width_), rows * width_);
    values_capacity_ = capacity_of(values_);
  }
  if ((is_string(type_->kind) || is_list(type_->kind)) && offsets_capacity_ < rows + 1) {
    const bool first = offsets_ == nullptr;
    regrow(offsets_, first ? 0 : static_cast<size_t>(length_ + 1) * sizeof(int32_t), (rows + 1) * 4);
    if (first) reinterpret_cast<int32_t*>(offsets_->mutable_data())[0] = 0;
    offsets_capacity_ = capacity_of(offsets_) / 4;
  }
  if (type_->kind == TypeKind::kRow) {
    for (auto& child : children_) child->reserve(rows);
  }
}

void ColumnBuilder::grow_values(int64_t rows) {
  reserve(std::max({rows, 2 * length_, length_ == 0 ? last_rows_ : 0, kFirstRows}));
}

void ColumnBuilder::grow_strings(size_t bytes) {
  STRAND_CHECK(bytes <= static_cast<size_t>(kStringBytesMax));
  if (offsets_capacity_ < length_ + 2) grow_values(length_ + 1);
  const auto wanted = static_cast<int64_t>(bytes);
  if (values_capacity_ < wanted || values_ == nullptr) {
    const int64_t size =
        std::max({wanted, 2 * string_bytes_, length_ == 0 ? last_values_bytes_ : 0, kFirstRows * 8});
    regrow(values_, static_cast<size_t>(string_bytes_), std::min(size, kStringBytesMax));
    values_capacity_ = capacity_of(values_);
  }
}

void ColumnBuilder::grow_bits(int64_t rows) {
  if (values_capacity_ * 8 >= rows) return;
  const auto used = static_cast<size_t>(values_capacity_);
  regrow(values_, used,
         std::max<int64_t>({2 * values_capacity_, 512, static_cast<int64_t>(bit_bytes(rows))}));
  values_capacity_ = capacity_of(values_);
  std::memset(values_->mutable_data() + used, 0, static_cast<size_t>(values_capacity_) - used);
}

void ColumnBuilder::append_boolean(bool value) {
  grow_bits(length_ + 1);
  put_bit(values_->mutable_data(), length_, value);
  ++length_;
}

void ColumnBuilder::append_nulls(int64_t rows) {
  write_validity(rows);
  if (width_ > 0) {
    if (values_capacity_ < (length_ + rows) * width_) grow_values(length_ + rows);
    std::memset(values_->mutable_data() + length_ * width_, 0, static_cast<size_t>(rows * width_));
  } else if (type_->kind == TypeKind::kBoolean) {
    grow_bits(length_ + rows);
    fill_bits(values_->mutable_data(), length_, rows, false);
  } else if (is_string(type_->kind)) {
    push_offsets(rows, string_bytes_);
  } else if (is_list(type_->kind)) {
    push_offsets(rows, children_[0]->length());
  } else {
    for (auto& child : children_) child->append_nulls(rows);
  }
  length_ += rows;
}

void ColumnBuilder::close_nested() {
  if (is_list(type_->kind)) {
    STRAND_CHECK(children_[0]->length() <= INT32_MAX);
    push_offsets(1, children_[0]->length());
  }
  ++length_;
  if (type_->kind == TypeKind::kMap) STRAND_CHECK(children_[0]->length() == children_[1]->length());
  if (type_->kind == TypeKind::kRow) {
    for (const auto& child : children_) STRAND_CHECK(child->length() == length_);
  }
}

void ColumnBuilder::close_rows(int64_t rows) {
  length_ += rows;
  for (const auto& child : children_) child->truncate(length_);
}

void ColumnBuilder::append_from(const Column& column, int64_t row) {
  if (column.is_null(row)) return append_null();
  switch (width_) {
    case 1:
      return append(column.values<int8_t>()[row]);
    case 2:
      return append(column.values<int16_t>()[row]);
    case 4:
      return append(column.values<int32_t>()[row]);
    case 8:
      return append(column.values<int64_t>()[row]);
    case 16:
      return append(column.values<Int128>()[row]);
    default:
      break;
  }
  const TypeKind kind = type_->kind;
  if (kind == TypeKind::kBoolean) return append_boolean(column.boolean(row));
  if (is_string(kind)) return append_string(column.string(row));
  for (size_t i = 0; i < children_.size(); ++i) {
    const int64_t begin = is_list(kind) ? column.offsets()[row] : row;
    const int64_t end = is_list(kind) ? column.offsets()[row + 1] : row + 1;
    for (int64_t element = begin; element < end; ++element)
      children_[i]->append_from(*column.child(i), element);
  }
  close_nested();
}

/// Writes the bits of the values since the last NULL, and of `nulls` rows behind them.
void ColumnBuilder::write_validity(int64_t nulls) {
  const int64_t rows = length_ + nulls;
  if (validity_ == nullptr) {
    validity_ = Buffer::allocate(std::max(bit_bytes(rows), bit_bytes(last_rows_)));
  } else if (static_cast<int64_t>(validity_->capacity()) * 8 < rows) {
    regrow(validity_, bit_bytes(validity_rows_),
           std::max(static_cast<int64_t>(2 * validity_->capacity()), static_cast<int64_t>(bit_bytes(rows))));
  }
  fill_bits(validity_->mutable_data(), validity_rows_, length_ - validity_rows_, true);
  fill_bits(validity_->mutable_data(), length_, nulls, false);
  validity_rows_ = rows;
}

void ColumnBuilder::push_offsets(int64_t rows, int64_t end) {
  if (offsets_capacity_ < length_ + rows + 1) grow_values(length_ + rows);
  auto* offsets = reinterpret_cast<int32_t*>(offsets_->mutable_data()) + length_ + 1;
  std::fill_n(offsets, rows, static_cast<int32_t>(end));
}

void ColumnBuilder::truncate(int64_t rows) {
  STRAND_CHECK(rows <= length_);
  length_ = rows;
  validity_rows_ = std::min(validity_rows_, rows);
  if (type_->kind == TypeKind::kRow) {
    for (auto& child : children_) child->truncate(rows);
  } else if (is_string(type_->kind) || is_list(type_->kind)) {
    const int32_t end = offsets_ == nullptr ? 0 : reinterpret_cast<const int32_t*>(offsets_->data())[rows];
    if (is_string(type_->kind)) string_bytes_ = end;
    for (auto& child : children_) child->truncate(end);
  }
}

void ColumnBuilder::finish_values(Column::Parts& parts) {
  const TypeKind kind = type_->kind;
  if (is_string(kind) || is_list(kind)) {
    if (offsets_ == nullptr) reserve(1);
    offsets_->set_size(static_cast<size_t>(length_ + 1) * sizeof(int32_t));
    parts.offsets = std::move(offsets_);
  }
  const size_t bytes = is_string(kind) ? static_cast<size_t>(string_bytes_)
                       : width_ > 0    ? static_cast<size_t>(length_ * width_)
                                       : bit_bytes(length_);
  last_values_bytes_ = static_cast<int64_t>(bytes);
  if (is_list(kind) || kind == TypeKind::kRow) return;
  if (values_ == nullptr || values_->capacity() < bytes) values_ = Buffer::allocate(bytes);
  values_->set_size(bytes);
  parts.values = std::move(values_);
}

ColumnPtr ColumnBuilder::finish() {
  Column::Parts parts;
  parts.type = type_;
  parts.length = length_;
  finish_values(parts);
  if (validity_ != nullptr) {
    write_validity(0);
    validity_->set_size(bit_bytes(length_));
    parts.validity = std::move(validity_);
  }
  for (auto& child : children_) parts.children.push_back(child->finish());
  last_rows_ = length_;
  length_ = values_capacity_ = string_bytes_ = offsets_capacity_ = validity_rows_ = 0;
  values_ = validity_ = offsets_ = nullptr;
  return Column::make(std::move(parts));
}

}  // namespace strand::columnar
