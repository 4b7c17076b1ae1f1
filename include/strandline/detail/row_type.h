// An element of a stream as a row of columns.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "strandline/codec.h"

namespace strandline {

/// A column as stored: name and SQL type (`STRING`, `BIGINT`, `TIMESTAMP_LTZ(3)`, `DECIMAL(12, 2)`, ...).
struct Column {
  std::string name;
  std::string type;
};

namespace detail {

/// A column of a batch as it lies in memory (Arrow). `bit` is where bits begin.
struct ColumnView {
  const char* values = nullptr;
  const int32_t* offsets = nullptr;
  const char* validity = nullptr;
  int64_t bit = 0;

  static bool get(const char* bits, int64_t at) {
    return ((static_cast<uint8_t>(bits[at >> 3]) >> (at & 7)) & 1) != 0;
  }
  bool null(int64_t row) const { return validity != nullptr && !get(validity, row + bit); }
  template <class N>
  N number(int64_t row) const {
    N value;
    std::memcpy(&value, values + row * static_cast<int64_t>(sizeof value), sizeof value);
    return value;
  }
  bool boolean(int64_t row) const { return get(values, row + bit); }
  std::string_view text(int64_t row) const {
    return {values + offsets[row], static_cast<size_t>(offsets[row + 1] - offsets[row])};
  }
};

/// Takes the values of a row, column by column, in order.
class RowWriter {
 public:
  virtual ~RowWriter() = default;
  virtual void null() = 0;
  virtual void boolean(bool value) = 0;
  virtual void number(int8_t value) = 0;
  virtual void number(int16_t value) = 0;
  virtual void number(int32_t value) = 0;
  virtual void number(int64_t value) = 0;
  virtual void number(float value) = 0;
  virtual void number(double value) = 0;
  virtual void text(std::string_view value) = 0;
};

/// The column that a value of a type is: its SQL type, and how it is read and written. `read` says whether a
/// value was there; a NULL where none can be is for the caller to tell.
template <class T>
struct ColumnOf;

template <class T>
concept Columnar = requires { ColumnOf<T>::sql_type(); };

template <class T>
  requires(std::is_arithmetic_v<T> && !std::is_unsigned_v<T>) || std::is_same_v<T, bool>
struct ColumnOf<T> {
  static std::string sql_type() {
    if constexpr (std::is_same_v<T, bool>) return "BOOLEAN NOT NULL";
    if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? "FLOAT NOT NULL" : "DOUBLE NOT NULL";
    return sizeof(T) == 1   ? "TINYINT NOT NULL"
           : sizeof(T) == 2 ? "SMALLINT NOT NULL"
           : sizeof(T) == 4 ? "INT NOT NULL"
                            : "BIGINT NOT NULL";
  }
  static bool read(const ColumnView& column, int64_t row, T& into) {
    if (column.null(row)) return false;
    if constexpr (std::is_same_v<T, bool>) {
      into = column.boolean(row);
    } else {
      into = column.number<T>(row);
    }
    return true;
  }
  static void write(T value, RowWriter& out) {
    if constexpr (std::is_same_v<T, bool>) {
      out.boolean(value);
    } else if constexpr (std::is_floating_point_v<T>) {
      out.number(value);
    } else {
      using Fixed = std::conditional_t<
          sizeof(T) == 1, int8_t,
          std::conditional_t<sizeof(T) == 2, int16_t, std::conditional_t<sizeof(T) == 4, int32_t, int64_t>>>;
      out.number(static_cast<Fixed>(value));
    }
  }
};

template <class T>
  requires std::is_enum_v<T>
struct ColumnOf<T> {
  using Number = std::make_signed_t<std::underlying_type_t<T>>;
  static std::string sql_type() { return ColumnOf<Number>::sql_type(); }
  static bool read(const ColumnView& column, int64_t row, T& into) {
    Number number{};
    const bool there = ColumnOf<Number>::read(column, row, number);
    into = static_cast<T>(number);
    return there;
  }
  static void write(T value, RowWriter& out) { ColumnOf<Number>::write(static_cast<Number>(value), out); }
};

template <>
struct ColumnOf<std::string> {
  static std::string sql_type() { return "STRING NOT NULL"; }
  static bool read(const ColumnView& column, int64_t row, std::string& into) {
    if (column.null(row)) return false;
    into = column.text(row);
    return true;
  }
  static void write(const std::string& value, RowWriter& out) { out.text(value); }
};

template <>
struct ColumnOf<Timestamp> {
  static std::string sql_type() { return "TIMESTAMP_LTZ(3) NOT NULL"; }
  static bool read(const ColumnView& column, int64_t row, Timestamp& into) {
    if (column.null(row)) return false;
    into = timestamp_of(column.number<int64_t>(row));
    return true;
  }
  static void write(Timestamp value, RowWriter& out) { out.number(millis_of(value)); }
};

/// NULL is a value of it.
template <Columnar T>
struct ColumnOf<std::optional<T>> {
  static std::string sql_type() {
    std::string type = ColumnOf<T>::sql_type();
    return type.substr(0, type.rfind(" NOT NULL"));
  }
  static bool read(const ColumnView& column, int64_t row, std::optional<T>& into) {
    if (column.null(row)) {
      into.reset();
      return true;
    }
    return ColumnOf<T>::read(column, row, into.emplace());
  }
  static void write(const std::optional<T>& value, RowWriter& out) {
    if (value) return ColumnOf<T>::write(*value, out);
    out.null();
  }
};

/// The columns of an element: those of a struct's fields, f0, f1, ... of a pair or tuple, `value` of anything
/// else. `visit(f, value)` calls f(name, part) for each of them.
template <class T>
struct Parts {
  template <class V, class F>
  static void visit(V& value, F&& f) {
    f("value", value);
  }
};
template <Struct T>
struct Parts<T> {
  template <class V, class F>
  static void visit(V& value, F&& f) {
    for_each_field<T>([&](const char* name, auto member) { f(name, value.*member); });
  }
};
template <class A, class B>
struct Parts<std::pair<A, B>> {
  template <class V, class F>
  static void visit(V& value, F&& f) {
    f("f0", value.first);
    f("f1", value.second);
  }
};
template <class... T>
struct Parts<std::tuple<T...>> {
  template <class V, class F>
  static void visit(V& value, F&& f) {
    size_t i = 0;
    std::apply([&](auto&... part) { (f("f" + std::to_string(i++), part), ...); }, value);
  }
};

/// A type of elements, without the type. One object a type lives for ever, so its address names it.
struct RowType {
  std::vector<Column> columns;
  void* (*make)();
  void (*destroy)(void*);
  /// Reads a row into an element that was made. The number of the column that holds a NULL where none may be,
  /// or -1.
  int (*read)(const ColumnView* columns, int64_t row, void* into);
  void (*write)(const void* element, RowWriter& out);
  /// As state.
  std::string (*codec_name)();
  void (*encode)(const void* element, std::string& out);
  void (*decode)(std::string_view bytes, void* into);
};

template <class T>
RowType make_row_type() {
  RowType type{};
  T none{};
  Parts<T>::visit(none, [&]<class P>(const auto& name, P&) {
    static_assert(Columnar<P>,
                  "a field of this type cannot be a column: bool, signed integers, float, double, "
                  "std::string, Timestamp, enums, and std::optional of these can");
    type.columns.push_back({name, ColumnOf<P>::sql_type()});
  });
  type.make = []() -> void* { return new T{}; };
  type.destroy = [](void* element) { delete static_cast<T*>(element); };
  type.read = [](const ColumnView* columns, int64_t row, void* into) {
    int missing = -1;
    int i = 0;
    Parts<T>::visit(*static_cast<T*>(into), [&]<class P>(const auto&, P& part) {
      if (!ColumnOf<P>::read(columns[i], row, part) && missing < 0) missing = i;
      ++i;
    });
    return missing;
  };
  type.write = [](const void* element, RowWriter& out) {
    Parts<T>::visit(*static_cast<const T*>(element),
                    [&]<class P>(const auto&, const P& part) { ColumnOf<P>::write(part, out); });
  };
  type.codec_name = [] { return std::string(Codec<T>::name()); };
  type.encode = [](const void* element, std::string& out) {
    Codec<T>::encode(*static_cast<const T*>(element), out);
  };
  type.decode = [](std::string_view bytes, void* into) { *static_cast<T*>(into) = decoded<T>(bytes); };
  return type;
}

template <class T>
const RowType& row_type() {
  static const RowType type = make_row_type<T>();
  return type;
}

}  // namespace detail
}  // namespace strandline
