// gather and concat.
#include <algorithm>

#include "columnar/batch.h"
#include "columnar/bits.h"

namespace strand::columnar {

namespace {

template <class T>
BufferPtr gather_values(const Column& column, std::span<const uint32_t> rows) {
  auto buffer = Buffer::allocate(rows.size() * sizeof(T));
  auto* out = reinterpret_cast<T*>(buffer->mutable_data());
  const T* in = column.values<T>();
  for (size_t i = 0; i < rows.size(); ++i) out[i] = in[rows[i]];
  return buffer;
}

BufferPtr gather_fixed(const Column& column, std::span<const uint32_t> rows, int width) {
  switch (width) {
    case 1:
      return gather_values<int8_t>(column, rows);
    case 2:
      return gather_values<int16_t>(column, rows);
    case 4:
      return gather_values<int32_t>(column, rows);
    case 8:
      return gather_values<int64_t>(column, rows);
    default:
      return gather_values<Int128>(column, rows);
  }
}

template <class F>
BufferPtr gather_bits(std::span<const uint32_t> rows, const F& bit) {
  auto buffer = Buffer::allocate(bit_bytes(static_cast<int64_t>(rows.size())));
  char* out = buffer->mutable_data();
  for (size_t i = 0; i < rows.size(); i += 8) {
    unsigned byte = 0;
    const size_t n = std::min<size_t>(8, rows.size() - i);
    for (size_t k = 0; k < n; ++k) byte |= static_cast<unsigned>(bit(static_cast<int64_t>(rows[i + k]))) << k;
    out[i >> 3] = static_cast<char>(static_cast<uint8_t>(byte));
  }
  return buffer;
}

/// Offsets of the gathered lists or strings; `total` is the last of them.
BufferPtr gather_offsets(const Column& column, std::span<const uint32_t> rows, int64_t& total) {
  auto buffer = Buffer::allocate((rows.size() + 1) * sizeof(int32_t));
  auto* out = reinterpret_cast<int32_t*>(buffer->mutable_data());
  const int32_t* in = column.offsets();
  total = 0;
  out[0] = 0;
  for (size_t i = 0; i < rows.size(); ++i) {
    total += in[rows[i] + 1] - in[rows[i]];
    out[i + 1] = static_cast<int32_t>(total);
  }
  STRAND_CHECK(total <= INT32_MAX);
  return buffer;
}

BufferPtr gather_bytes(const Column& column, std::span<const uint32_t> rows, int64_t total) {
  auto buffer = Buffer::allocate(static_cast<size_t>(total));
  char* out = buffer->mutable_data();
  const char* bytes = column.parts().values->data();
  const int32_t* in = column.offsets();
  for (const uint32_t row : rows) {
    const auto size = static_cast<size_t>(in[row + 1] - in[row]);
    // Both sides have 64 bytes behind their end, so short strings are copied in one step.
    if (size <= 32) {
      std::memcpy(out, bytes + in[row], 32);
    } else {
      std::memcpy(out, bytes + in[row], size);
    }
    out += size;
  }
  return buffer;
}

std::vector<uint32_t> element_rows(const Column& column, std::span<const uint32_t> rows) {
  std::vector<uint32_t> elements;
  for (const uint32_t row : rows) {
    for (int32_t e = column.offsets()[row]; e < column.offsets()[row + 1]; ++e) {
      elements.push_back(static_cast<uint32_t>(e));
    }
  }
  return elements;
}

int64_t total_length(const std::vector<ColumnPtr>& columns) {
  int64_t length = 0;
  for (const ColumnPtr& column : columns) length += column->length();
  return length;
}

BufferPtr concat_validity(const std::vector<ColumnPtr>& columns, int64_t length) {
  if (std::none_of(columns.begin(), columns.end(), [](const ColumnPtr& c) { return c->has_nulls(); }))
    return nullptr;
  auto buffer = Buffer::allocate(bit_bytes(length));
  int64_t at = 0;
  for (const ColumnPtr& column : columns) {
    if (column->has_nulls()) {
      copy_bits(column->parts().validity->data(), column->parts().offset, buffer->mutable_data(), at,
                column->length());
    } else {
      fill_bits(buffer->mutable_data(), at, column->length(), true);
    }
    at += column->length();
  }
  return buffer;
}

BufferPtr concat_fixed(const std::vector<ColumnPtr>& columns, int64_t length, int width) {
  auto buffer = Buffer::allocate(static_cast<size_t>(length * width));
  char* out = buffer->mutable_data();
  for (const ColumnPtr& column : columns) {
    const auto bytes = static_cast<size_t>(column->length() * width);
    std::memcpy(out, column->parts().values->data() + column->parts().offset * width, bytes);
    out += bytes;
  }
  return buffer;
}

BufferPtr concat_booleans(const std::vector<ColumnPtr>& columns, int64_t length) {
  auto buffer = Buffer::allocate(bit_bytes(length));
  int64_t at = 0;
  for (const ColumnPtr& column : columns) {
    copy_bits(column->parts().values->data(), column->parts().offset, buffer->mutable_data(), at,
              column->length());
    at += column->length();
  }
  return buffer;
}

BufferPtr concat_offsets(const std::vector<ColumnPtr>& columns, int64_t length, int64_t& total) {
  auto buffer = Buffer::allocate(static_cast<size_t>(length + 1) * sizeof(int32_t));
  auto* out = reinterpret_cast<int32_t*>(buffer->mutable_data());
  total = 0;
  *out++ = 0;
  for (const ColumnPtr& column : columns) {
    const int32_t* in = column->offsets();
    for (int64_t i = 1; i <= column->length(); ++i) *out++ = static_cast<int32_t>(total + in[i] - in[0]);
    total += in[column->length()] - in[0];
    STRAND_CHECK(total <= INT32_MAX);
  }
  return buffer;
}

BufferPtr concat_bytes(const std::vector<ColumnPtr>& columns, int64_t total) {
  auto buffer = Buffer::allocate(static_cast<size_t>(total));
  char* out = buffer->mutable_data();
  for (const ColumnPtr& column : columns) {
    const int32_t* in = column->offsets();
    const auto bytes = static_cast<size_t>(in[column->length()] - in[0]);
    std::memcpy(out, column->parts().values->data() + in[0], bytes);
    out += bytes;
  }
  return buffer;
}

void concat_children(const std::vector<ColumnPtr>& columns, Column::Parts& parts) {
  for (size_t c = 0; c < parts.type->children.size(); ++c) {
    std::vector<ColumnPtr> children;
    for (const ColumnPtr& column : columns) {
      const ColumnPtr& child = column->child(c);
      if (parts.type->kind == TypeKind::kRow) {
        children.push_back(child);
      } else {
        const int32_t begin = column->offsets()[0];
        children.push_back(child->slice(begin, column->offsets()[column->length()] - begin));
      }
    }
    parts.children.push_back(concat(children));
  }
}

}  // namespace

ColumnPtr gather(const Column& column, std::span<const uint32_t> rows) {
  Column::Parts parts;
  parts.type = column.type();
  parts.length = static_cast<int64_t>(rows.size());
  const TypeKind kind = parts.type->kind;
  if (column.has_nulls()) {
    parts.validity = gather_bits(rows, [&](int64_t row) { return !column.is_null(row); });
  }
  int64_t total = 0;
  if (const int width = fixed_width(kind); width > 0) {
    parts.values = gather_fixed(column, rows, width);
  } else if (kind == TypeKind::kBoolean) {
    parts.values = gather_bits(rows, [&](int64_t row) { return column.boolean(row); });
  } else if (is_string(kind)) {
    parts.offsets = gather_offsets(column, rows, total);
    parts.values = gather_bytes(column, rows, total);
  } else if (is_list(kind)) {
    parts.offsets = gather_offsets(column, rows, total);
    const std::vector<uint32_t> elements = element_rows(column, rows);
    for (const ColumnPtr& child : column.parts().children) parts.children.push_back(gather(*child, elements));
  } else if (kind == TypeKind::kRow) {
    for (const ColumnPtr& child : column.parts().children) parts.children.push_back(gather(*child, rows));
  } else {
    return Column::nulls(parts.type, parts.length);
  }
  return Column::make(std::move(parts));
}

ColumnPtr concat(const std::vector<ColumnPtr>& columns) {
  STRAND_CHECK(!columns.empty());
  if (columns.size() == 1) return columns[0];
  Column::Parts parts;
  parts.type = columns[0]->type();
  parts.length = total_length(columns);
  const TypeKind kind = parts.type->kind;
  parts.validity = concat_validity(columns, parts.length);
  int64_t total = 0;
  if (const int width = fixed_width(kind); width > 0) {
    parts.values = concat_fixed(columns, parts.length, width);
  } else if (kind == TypeKind::kBoolean) {
    parts.values = concat_booleans(columns, parts.length);
  } else if (is_string(kind)) {
    parts.offsets = concat_offsets(columns, parts.length, total);
    parts.values = concat_bytes(columns, total);
  } else if (is_list(kind)) {
    parts.offsets = concat_offsets(columns, parts.length, total);
    concat_children(columns, parts);
  } else if (kind == TypeKind::kRow) {
    concat_children(columns, parts);
  } else {
    return Column::nulls(parts.type, parts.length);
  }
  return Column::make(std::move(parts));
}

Batch concat(const std::vector<Batch>& batches) {
  STRAND_CHECK(!batches.empty());
  if (batches.size() == 1) return batches[0];
  std::vector<Batch> whole;
  int64_t rows = 0;
  bool has_kinds = false;
  for (const Batch& batch : batches) {
    whole.push_back(batch.compact());
    rows += batch.rows();
    has_kinds = has_kinds || batch.kinds() != nullptr;
  }
  std::vector<ColumnPtr> columns;
  for (size_t c = 0; c < batches[0].columns().size(); ++c) {
    std::vector<ColumnPtr> parts;
    for (const Batch& batch : whole) parts.push_back(batch.column_ptr(c));
    columns.push_back(concat(parts));
  }
  Batch result(batches[0].schema(), std::move(columns), rows);
  if (!has_kinds) return result;
  auto kinds = std::make_shared<std::vector<uint8_t>>();
  kinds->reserve(static_cast<size_t>(rows));
  for (const Batch& batch : whole) {
    for (int64_t row = 0; row < batch.physical_rows(); ++row)
      kinds->push_back(static_cast<uint8_t>(batch.kind(row)));
  }
  return result.with_kinds(std::move(kinds));
}

}  // namespace strand::columnar
