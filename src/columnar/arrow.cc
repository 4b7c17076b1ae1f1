#include "columnar/arrow.h"

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <vector>

namespace strand::columnar {

namespace {

std::string time_unit(const Type& type) {
  const int64_t units = timestamp_units(type.precision);
  return units == 1'000 ? "m" : units == 1'000'000 ? "u" : "n";
}

std::string format_of(const Type& type) {
  switch (type.kind) {
    case TypeKind::kNull:
      return "n";
    case TypeKind::kBoolean:
      return "b";
    case TypeKind::kTinyInt:
      return "c";
    case TypeKind::kSmallInt:
      return "s";
    case TypeKind::kInt:
      return "i";
    case TypeKind::kBigInt:
      return "l";
    case TypeKind::kFloat:
      return "f";
    case TypeKind::kDouble:
      return "g";
    case TypeKind::kDecimal:
      return "d:" + std::to_string(type.precision) + "," + std::to_string(type.scale);
    case TypeKind::kString:
      return "u";
    case TypeKind::kBytes:
      return "z";
    case TypeKind::kDate:
      return "tdD";
    case TypeKind::kTime:
      return "ttm";
    case TypeKind::kTimestamp:
      return "ts" + time_unit(type) + ":";
    case TypeKind::kTimestampLtz:
      return "ts" + time_unit(type) + ":UTC";
    case TypeKind::kIntervalMillis:
      return "tDm";
    case TypeKind::kIntervalMonths:
      return "tiM";
    case TypeKind::kArray:
      return "+l";
    case TypeKind::kMap:
      return "+m";
    case TypeKind::kRow:
      return "+s";
  }
  return "n";
}

/// What an exported schema owns.
struct SchemaParts {
  std::string format;
  std::string name;
  std::deque<ArrowSchema> children;
  std::vector<ArrowSchema*> pointers;
};

/// What an exported array owns: the column's buffers, and the arrays of its children.
struct ArrayParts {
  std::vector<ColumnPtr> columns;
  BufferPtr validity;
  std::vector<const void*> buffers;
  std::deque<ArrowArray> children;
  std::vector<ArrowArray*> pointers;
};

/// A receiver may have moved a child out; its `release` is null then.
template <class Parts, class Arrow>
void release_with_children(Arrow* exported) {
  const std::unique_ptr<Parts> parts(static_cast<Parts*>(exported->private_data));
  for (Arrow& child : parts->children) {
    if (child.release != nullptr) child.release(&child);
  }
  exported->release = nullptr;
}

template <class Parts, class Arrow>
void own(std::unique_ptr<Parts> parts, Arrow* out) {
  for (Arrow& child : parts->children) parts->pointers.push_back(&child);
  out->n_children = static_cast<int64_t>(parts->pointers.size());
  out->children = parts->pointers.empty() ? nullptr : parts->pointers.data();
  out->release = release_with_children<Parts, Arrow>;
  out->private_data = parts.release();
}

void export_type(const Type& type, const std::string& name, ArrowSchema* out);

void export_types(const std::vector<Field>& fields, SchemaParts& parts) {
  for (const Field& field : fields) export_type(*field.type, field.name, &parts.children.emplace_back());
}

/// Arrow's map is a list of structs without NULLs, whose keys are never NULL.
void export_entries(const Type& map, SchemaParts& parts) {
  export_type(
      *row_type({{"key", with_nullable(map.children[0].type, false)}, {"value", map.children[1].type}},
                /*nullable=*/false),
      "entries", &parts.children.emplace_back());
}

void export_type(const Type& type, const std::string& name, ArrowSchema* out) {
  auto parts = std::make_unique<SchemaParts>();
  parts->format = format_of(type);
  parts->name = name;
  if (type.kind == TypeKind::kMap) {
    export_entries(type, *parts);
  } else {
    export_types(type.children, *parts);
  }
  *out = ArrowSchema();
  out->format = parts->format.c_str();
  out->name = parts->name.c_str();
  out->flags = type.nullable ? ARROW_FLAG_NULLABLE : 0;
  own(std::move(parts), out);
}

const void* bytes_of(const BufferPtr& buffer) { return buffer == nullptr ? nullptr : buffer->data(); }

/// The bits from `offset` on, at the beginning of a buffer of their own.
BufferPtr shifted_bits(const BufferPtr& bits, int64_t offset, int64_t length) {
  if (bits == nullptr || offset == 0) return bits;
  auto out = Buffer::allocate(static_cast<size_t>(length + 7) / 8);
  std::memset(out->mutable_data(), 0, out->size());
  for (int64_t i = 0; i < length; ++i) {
    const auto from = static_cast<uint64_t>(i + offset);
    const auto to = static_cast<uint64_t>(i);
    const int bit = (static_cast<uint8_t>(bits->data()[from >> 3]) >> (from & 7)) & 1;
    out->mutable_data()[to >> 3] = static_cast<char>(out->mutable_data()[to >> 3] | (bit << (to & 7)));
  }
  return out;
}

void export_column(const ColumnPtr& column, ArrowArray* out);

void finish(std::unique_ptr<ArrayParts> parts, int64_t length, int64_t offset, bool nulls, ArrowArray* out) {
  *out = ArrowArray();
  out->length = length;
  out->null_count = nulls ? -1 : 0;  // -1: not counted
  out->offset = offset;
  out->n_buffers = static_cast<int64_t>(parts->buffers.size());
  out->buffers = parts->buffers.empty() ? nullptr : parts->buffers.data();
  own(std::move(parts), out);
}

/// Columns side by side, each of `length` rows.
void export_struct(const std::vector<ColumnPtr>& columns, BufferPtr validity, int64_t length,
                   ArrowArray* out) {
  auto parts = std::make_unique<ArrayParts>();
  for (const ColumnPtr& column : columns) export_column(column, &parts->children.emplace_back());
  parts->validity = std::move(validity);
  parts->buffers = {bytes_of(parts->validity)};
  const bool nulls = parts->validity != nullptr;
  finish(std::move(parts), length, 0, nulls, out);
}

void export_column(const ColumnPtr& column, ArrowArray* out) {
  const Column::Parts& from = column->parts();
  const TypeKind kind = from.type->kind;
  if (kind == TypeKind::kRow) {  // its children are sliced already, its validity is not
    return export_struct(from.children, shifted_bits(from.validity, from.offset, from.length), from.length,
                         out);
  }
  auto parts = std::make_unique<ArrayParts>();
  parts->columns = {column};
  if (kind == TypeKind::kMap) {
    export_struct(from.children, nullptr, from.children[0]->length(), &parts->children.emplace_back());
  } else if (kind == TypeKind::kArray) {
    export_column(from.children[0], &parts->children.emplace_back());
  }
  if (kind != TypeKind::kNull) parts->buffers.push_back(bytes_of(from.validity));
  if (is_string(kind) || is_list(kind)) parts->buffers.push_back(bytes_of(from.offsets));
  if (kind != TypeKind::kNull && !is_list(kind)) parts->buffers.push_back(bytes_of(from.values));
  const bool nulls = from.validity != nullptr;
  finish(std::move(parts), from.length, from.offset, nulls, out);
  if (kind == TypeKind::kNull) out->null_count = from.length;
}

}  // namespace

void export_schema(const Schema& schema, ArrowSchema* out) {
  export_type(*row_type(schema.fields(), /*nullable=*/false), "", out);
}

void export_batch(const Batch& batch, ArrowArray* out) {
  const Batch rows = batch.compact();
  export_struct(rows.columns(), nullptr, rows.rows(), out);
}

}  // namespace strand::columnar
