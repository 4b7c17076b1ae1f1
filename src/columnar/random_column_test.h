// Random types and columns for properties.
#pragma once

#include <rapidcheck.h>

#include <string>
#include <vector>

#include "columnar/batch.h"

namespace strand::columnar {

inline TypePtr random_type(int depth) {
  static const std::vector<TypeKind> flat = {
      TypeKind::kBoolean, TypeKind::kTinyInt, TypeKind::kSmallInt, TypeKind::kInt,   TypeKind::kBigInt,
      TypeKind::kFloat,   TypeKind::kDouble,  TypeKind::kString,   TypeKind::kBytes, TypeKind::kDate};
  switch (*rc::gen::inRange(0, depth > 0 ? 6 : 3)) {
    case 0:
      return decimal_type(38, 4);
    case 1:
      return timestamp_type(3, *rc::gen::arbitrary<bool>());
    case 3:
      return array_type(random_type(depth - 1));
    case 4:
      return map_type(make_type(TypeKind::kString), random_type(depth - 1));
    case 5:
      return row_type({{"x", random_type(depth - 1)}, {"y", make_type(TypeKind::kInt)}});
    default:
      return make_type(*rc::gen::elementOf(flat));
  }
}

// One value, or NULL once in four.
inline void append_random(ColumnBuilder& out) {
  if (*rc::gen::inRange(0, 4) == 0) return out.append_null();
  const TypeKind kind = out.type()->kind;
  switch (fixed_width(kind)) {
    case 1:
      return out.append(*rc::gen::arbitrary<int8_t>());
    case 2:
      return out.append(*rc::gen::arbitrary<int16_t>());
    case 4:
      if (kind == TypeKind::kFloat) return out.append(static_cast<float>(*rc::gen::inRange(-9, 9)));
      return out.append(*rc::gen::arbitrary<int32_t>());
    case 8:
      if (kind == TypeKind::kDouble) return out.append(*rc::gen::inRange(-9, 9) / 4.0);
      return out.append(*rc::gen::arbitrary<int64_t>());
    case 16:
      return out.append(Int128{*rc::gen::arbitrary<int64_t>()} * 1'000'003);
    default:
      break;
  }
  if (kind == TypeKind::kBoolean) return out.append_boolean(*rc::gen::arbitrary<bool>());
  if (kind == TypeKind::kString || kind == TypeKind::kBytes) {
    // Never empty, so that the text of a list tells how many elements it has.
    return out.append_string("s" + *rc::gen::container<std::string>(rc::gen::inRange<char>('a', 'd')));
  }
  const int elements = kind == TypeKind::kRow ? 1 : *rc::gen::inRange(0, 4);
  for (size_t child = 0; child < out.type()->children.size(); ++child) {
    for (int i = 0; i < elements; ++i) append_random(out.child(child));
  }
  out.close_nested();
}

// A random batch of one or two columns, often a slice of a longer one so that offsets are not 0.
inline Batch random_batch(const SchemaPtr& schema) {
  BatchBuilder builder(schema);
  const int rows = *rc::gen::inRange(0, 30);
  for (int row = 0; row < rows; ++row) {
    for (size_t i = 0; i < schema->size(); ++i) append_random(builder.column(i));
    builder.end_row(*rc::gen::element(RowKind::kInsert, RowKind::kInsert, RowKind::kDelete));
  }
  const Batch whole = builder.finish();
  const int from = *rc::gen::inRange(0, rows + 1);
  return whole.slice(from, *rc::gen::inRange(0, rows - from + 1));
}
inline SchemaPtr random_schema() {
  return std::make_shared<Schema>(std::vector<Field>{{"a", random_type(2)}, {"b", random_type(1)}});
}

inline std::vector<std::string> texts(const Batch& batch) {
  std::vector<std::string> rows;
  batch.for_each_row([&](int64_t row) { rows.push_back(row_to_string(batch, row)); });
  return rows;
}

}  // namespace strand::columnar
