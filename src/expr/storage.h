// From SQL types to the C++ types that hold them.
#pragma once

#include <type_traits>

#include "base/check.h"
#include "columnar/column.h"

namespace strand::expr {

using columnar::Int128;
using columnar::Type;
using columnar::TypeKind;
__extension__ using UInt128 = unsigned __int128;

template <class T>
struct Storage {
  using type = T;
};

/// Calls f(Storage<T>{}) with the storage of a fixed-width type other than BOOLEAN.
template <class F>
decltype(auto) with_storage(TypeKind kind, F&& f) {
  switch (kind) {
    case TypeKind::kTinyInt:
      return f(Storage<int8_t>{});
    case TypeKind::kSmallInt:
      return f(Storage<int16_t>{});
    case TypeKind::kInt:
    case TypeKind::kDate:
    case TypeKind::kTime:
      return f(Storage<int32_t>{});
    case TypeKind::kFloat:
      return f(Storage<float>{});
    case TypeKind::kDouble:
      return f(Storage<double>{});
    case TypeKind::kDecimal:
      return f(Storage<Int128>{});
    default:
      STRAND_CHECK(columnar::fixed_width(kind) == 8);
      return f(Storage<int64_t>{});
  }
}

constexpr bool is_text(TypeKind kind) { return kind == TypeKind::kString || kind == TypeKind::kBytes; }
constexpr bool is_timestamp(TypeKind kind) {
  return kind == TypeKind::kTimestamp || kind == TypeKind::kTimestampLtz;
}
constexpr bool is_interval(TypeKind kind) {
  return kind == TypeKind::kIntervalMillis || kind == TypeKind::kIntervalMonths;
}
constexpr bool is_approximate(TypeKind kind) { return kind == TypeKind::kFloat || kind == TypeKind::kDouble; }
constexpr bool is_nested(TypeKind kind) {
  return kind == TypeKind::kArray || kind == TypeKind::kMap || kind == TypeKind::kRow;
}

}  // namespace strand::expr
