#include "columnar/sort_key.h"

#include <bit>
#include <cmath>
#include <cstring>

#include "base/check.h"

namespace strand::columnar {

namespace {

template <class U>
void put_big_endian(U bits, std::string& out) {
  for (size_t i = sizeof(U); i-- > 0;) out.push_back(static_cast<char>(bits >> (8 * i)));
}
template <class U>
U get_big_endian(std::string_view bytes) {
  U bits = 0;
  for (size_t i = 0; i < sizeof(U); ++i) bits = static_cast<U>(bits << 8) | static_cast<uint8_t>(bytes[i]);
  return bits;
}

__extension__ using Uint128 = unsigned __int128;
template <class T>
struct Unsigned {
  using type = std::make_unsigned_t<T>;
};
template <>
struct Unsigned<Int128> {
  using type = Uint128;
};
template <class T>
using UnsignedOf = typename Unsigned<T>::type;

/// The bit that must be turned for signed numbers to order as unsigned ones.
template <class U>
constexpr U sign_bit() {
  return static_cast<U>(U{1} << (8 * sizeof(U) - 1));
}

template <class T>
void put_integer(T value, std::string& out) {
  using U = UnsignedOf<T>;
  put_big_endian(static_cast<U>(static_cast<U>(value) ^ sign_bit<U>()), out);
}
template <class T>
T get_integer(std::string_view bytes) {
  using U = UnsignedOf<T>;
  return static_cast<T>(static_cast<U>(get_big_endian<U>(bytes) ^ sign_bit<U>()));
}

/// A negative number orders by its bits turned round, another one behind all of those.
template <class U, class T>
void put_float(T value, std::string& out) {
  const auto bits = std::bit_cast<U>(std::isnan(value) ? std::numeric_limits<T>::quiet_NaN() : value);
  put_big_endian((bits & sign_bit<U>()) != 0 ? static_cast<U>(~bits) : static_cast<U>(bits | sign_bit<U>()),
                 out);
}
template <class T, class U>
T get_float(std::string_view bytes) {
  const U bits = get_big_endian<U>(bytes);
  return std::bit_cast<T>((bits & sign_bit<U>()) != 0 ? static_cast<U>(bits ^ sign_bit<U>())
                                                      : static_cast<U>(~bits));
}

constexpr char kEnd = '\0';
constexpr char kZero = '\1';  // behind kEnd: the zero belongs to the value

/// A string in front of other columns: it ends with two zeros, and a zero in it has a mark.
void close_string(size_t from, std::string& out) {
  const std::string value = out.substr(from);
  out.resize(from);
  for (const char c : value) {
    out.push_back(c);
    if (c == kEnd) out.push_back(kZero);
  }
  out.push_back(kEnd);
  out.push_back(kEnd);
}

}  // namespace

bool is_ordered(TypeKind kind) { return kind != TypeKind::kNull && kind != TypeKind::kRow && !is_list(kind); }

void append_ordered(const Column& column, int64_t row, std::string& out) {
  const TypeKind kind = column.type()->kind;
  STRAND_CHECK(is_ordered(kind));
  if (kind == TypeKind::kBoolean) return out.push_back(column.boolean(row) ? '\1' : '\0');
  if (is_string(kind)) {
    out += column.string(row);
    return;
  }
  if (kind == TypeKind::kFloat) return put_float<uint32_t>(column.values<float>()[row], out);
  if (kind == TypeKind::kDouble) return put_float<uint64_t>(column.values<double>()[row], out);
  switch (fixed_width(kind)) {
    case 1:
      return put_integer(column.values<int8_t>()[row], out);
    case 2:
      return put_integer(column.values<int16_t>()[row], out);
    case 4:
      return put_integer(column.values<int32_t>()[row], out);
    case 8:
      return put_integer(column.values<int64_t>()[row], out);
    default:
      return put_integer(column.values<Int128>()[row], out);
  }
}

void append_from_ordered(std::string_view bytes, ColumnBuilder& out) {
  const TypeKind kind = out.type()->kind;
  if (kind == TypeKind::kBoolean) return out.append_boolean(bytes[0] != '\0');
  if (is_string(kind)) return out.append_string(bytes);
  if (kind == TypeKind::kFloat) return out.append(get_float<float, uint32_t>(bytes));
  if (kind == TypeKind::kDouble) return out.append(get_float<double, uint64_t>(bytes));
  switch (fixed_width(kind)) {
    case 1:
      return out.append(get_integer<int8_t>(bytes));
    case 2:
      return out.append(get_integer<int16_t>(bytes));
    case 4:
      return out.append(get_integer<int32_t>(bytes));
    case 8:
      return out.append(get_integer<int64_t>(bytes));
    default:
      return out.append(get_integer<Int128>(bytes));
  }
}

void append_sort_key(const Batch& batch, std::span<const SortColumn> columns, int64_t row, std::string& out) {
  for (const SortColumn& sort : columns) {
    const Column& column = batch.column(sort.column);
    const bool null = column.is_null(row);
    out.push_back(null == sort.nulls_last ? '\1' : '\0');
    if (null) continue;
    const size_t from = out.size();
    append_ordered(column, row, out);
    if (is_string(column.type()->kind)) close_string(from, out);
    if (!sort.descending) continue;
    for (size_t i = from; i < out.size(); ++i) out[i] = static_cast<char>(~out[i]);
  }
}

}  // namespace strand::columnar
