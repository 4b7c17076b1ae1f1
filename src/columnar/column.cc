#include "columnar/column.h"

#include "columnar/bits.h"

namespace strand::columnar {

namespace {

bool has_offsets(TypeKind kind) {
  return kind == TypeKind::kString || kind == TypeKind::kBytes || kind == TypeKind::kArray ||
         kind == TypeKind::kMap;
}

BufferPtr zeros(size_t size) {
  auto buffer = Buffer::allocate(size);
  std::memset(buffer->mutable_data(), 0, size);
  return buffer;
}

}  // namespace

ColumnPtr Column::make(Parts parts) {
  const TypeKind kind = parts.type->kind;
  STRAND_CHECK(parts.length >= 0 && parts.offset >= 0);
  STRAND_CHECK(!has_offsets(kind) || parts.offsets != nullptr);
  const bool nested = kind == TypeKind::kArray || kind == TypeKind::kMap || kind == TypeKind::kRow;
  STRAND_CHECK(nested ? parts.children.size() == parts.type->children.size() : parts.values != nullptr);
  return std::make_shared<const Column>(std::move(parts));
}

ColumnPtr Column::nulls(TypePtr type, int64_t length) {
  Parts parts;
  const auto rows = static_cast<size_t>(length);
  const TypeKind kind = type->kind;
  parts.length = length;
  parts.validity = zeros(bit_bytes(length));
  if (has_offsets(kind)) parts.offsets = zeros((rows + 1) * sizeof(int32_t));
  const int width = fixed_width(kind);
  parts.values = zeros(width > 0 ? rows * static_cast<size_t>(width) : bit_bytes(length));
  for (const Field& field : type->children) {
    parts.children.push_back(nulls(field.type, kind == TypeKind::kRow ? length : 0));
  }
  parts.type = std::move(type);
  return make(std::move(parts));
}

ColumnPtr Column::slice(int64_t from, int64_t length) const {
  STRAND_CHECK(from >= 0 && length >= 0 && from + length <= parts_.length);
  Parts parts = parts_;
  parts.length = length;
  parts.offset += from;
  if (parts.type->kind == TypeKind::kRow) {
    for (ColumnPtr& child : parts.children) child = child->slice(from, length);
  }
  return make(std::move(parts));
}

int64_t Column::memory_bytes() const {
  size_t bytes = 0;
  for (const BufferPtr& buffer : {parts_.validity, parts_.values, parts_.offsets}) {
    if (buffer != nullptr) bytes += buffer->capacity();
  }
  auto total = static_cast<int64_t>(bytes);
  for (const ColumnPtr& child : parts_.children) total += child->memory_bytes();
  return total;
}

}  // namespace strand::columnar
