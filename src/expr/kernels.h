// Loops over columns: dense ones for what cannot fail, row by row in the scope for the rest.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "expr/bits.h"
#include "expr/node.h"
#include "expr/storage.h"
#include "expr/text_writer.h"

namespace strand::expr {

/// The validity that a strict function of these arguments has: null where nothing is missing. Shares the
/// bitmap of an argument where it can.
BufferPtr combined_validity(std::span<const Value> args, int64_t length);

inline std::shared_ptr<Buffer> allocate_values(int64_t length, size_t width) {
  return Buffer::allocate(static_cast<size_t>(length) * width);
}
inline Value make_value(const TypePtr& type, int64_t length, BufferPtr validity, BufferPtr values) {
  return {Column::make({type, length, std::move(validity), std::move(values), nullptr}), false};
}

/// The same values under another type of the same storage; nothing is copied.
inline Value retyped(const Value& value, const TypePtr& type) {
  Column::Parts parts = value.column->parts();
  parts.type = type;
  return {Column::make(std::move(parts)), value.constant};
}

/// out[i] = f(a[i]) for all rows. f must take anything: hidden and missing rows go through it as well.
template <class A, class Out, class F>
Value map_values(const Scope& scope, const Value& a, const TypePtr& type, F f) {
  auto values = allocate_values(scope.length, sizeof(Out));
  const A* in = a.column->values<A>();
  Out* out = reinterpret_cast<Out*>(values->mutable_data());
  for (int64_t i = 0; i < scope.length; ++i) out[i] = f(in[i]);
  return make_value(type, scope.length, combined_validity({&a, 1}, scope.length), std::move(values));
}

/// Calls store(i, f(a[i], b[i])) for all rows, with a loop of its own where one side is constant.
template <class A, class B, class F, class Store>
void zip_loop(int64_t length, const Value& a, const Value& b, F f, Store store) {
  const A* x = a.column->values<A>();
  const B* y = b.column->values<B>();
  if (b.constant) {
    const B fixed = y[0];
    if (a.constant) {
      store(0, f(x[0], fixed));
    } else {
      for (int64_t i = 0; i < length; ++i) store(i, f(x[i], fixed));
    }
  } else if (a.constant) {
    const A fixed = x[0];
    for (int64_t i = 0; i < length; ++i) store(i, f(fixed, y[i]));
  } else {
    for (int64_t i = 0; i < length; ++i) store(i, f(x[i], y[i]));
  }
}

/// out[i] = f(a[i], b[i]) for all rows; as map_values.
template <class A, class B, class Out, class F>
Value zip_values(const Scope& scope, std::span<const Value> args, const TypePtr& type, F f) {
  auto values = allocate_values(scope.length, sizeof(Out));
  Out* out = reinterpret_cast<Out*>(values->mutable_data());
  zip_loop<A, B>(scope.length, args[0], args[1], f, [out](int64_t i, Out v) { out[i] = v; });
  return make_value(type, scope.length, combined_validity(args, scope.length), std::move(values));
}

/// A BOOLEAN column of f(a[i], b[i]).
template <class A, class B, class F>
Value zip_bits(const Scope& scope, std::span<const Value> args, const TypePtr& type, F f) {
  const auto padded = static_cast<size_t>(word_count(scope.length)) * 64;
  auto bytes = Buffer::allocate(padded);
  auto* out = reinterpret_cast<uint8_t*>(bytes->mutable_data());
  std::memset(out + (padded - 64), 0, 64);
  zip_loop<A, B>(scope.length, args[0], args[1], f,
                 [out](int64_t i, bool v) { out[i] = static_cast<uint8_t>(v); });
  Bits bits(scope.length);
  pack(out, scope.length, bits.words());
  return make_value(type, scope.length, combined_validity(args, scope.length), bits.take());
}

/// Reads one argument row by row.
template <class T>
class Reader {
 public:
  explicit Reader(const Value& value) : data_(value.column->values<T>()), stride_(value.constant ? 0 : 1) {}
  T operator[](int64_t i) const { return data_[i * stride_]; }

 private:
  const T* data_;
  int64_t stride_;
};
template <>
class Reader<bool> {
 public:
  explicit Reader(const Value& value) : value_(value) {}
  bool operator[](int64_t i) const { return value_.column->boolean(value_.row(i)); }

 private:
  Value value_;
};
template <>
class Reader<std::string_view> {
 public:
  explicit Reader(const Value& value)
      : bytes_(value.column->parts().values->data()),
        offsets_(value.column->offsets()),
        stride_(value.constant ? 0 : 1) {}
  std::string_view operator[](int64_t i) const {
    const int32_t* o = offsets_ + i * stride_;
    return {bytes_ + o[0], static_cast<size_t>(o[1] - o[0])};
  }

 private:
  const char* bytes_;
  const int32_t* offsets_;
  int64_t stride_;
};

/// Calls f(row) for the rows of the scope where no argument is NULL, until it returns false.
template <class F>
bool each_present(const Scope& scope, const BufferPtr& validity, F&& f) {
  if (validity == nullptr) return scope.each(f);
  const auto* words = reinterpret_cast<const uint64_t*>(validity->data());
  return scope.each([&](int64_t row) { return !get_bit(words, row) || f(row); });
}

/// The rows of the scope for which test(row) holds.
template <class F>
Bits test_rows(const Scope& scope, F test) {
  if (!scope.all) {
    Bits bits(scope.length, false);
    uint64_t* words = bits.words();
    for (const uint32_t row : scope.rows)
      words[row >> 6] |= static_cast<uint64_t>(test(int64_t{row})) << (row & 63);
    return bits;
  }
  Bits bits(scope.length);
  for (int64_t w = 0; w < bits.count(); ++w) {
    const int64_t n = std::min<int64_t>(64, scope.length - w * 64);
    uint64_t word = 0;
    for (int64_t i = 0; i < n; ++i) word |= static_cast<uint64_t>(test(w * 64 + i)) << i;
    bits.words()[w] = word;
  }
  return bits;
}

/// What a row function says of its row.
enum class Row : uint8_t { kNull, kValue, kFailed };

/// Where a row function puts its result.
template <class Out>
class Sink {
 public:
  explicit Sink(int64_t length)
      : values_(allocate_values(length, sizeof(Out))),
        out_(reinterpret_cast<Out*>(values_->mutable_data())) {}
  Out& at(int64_t row) { return out_[row]; }
  Value finish(const TypePtr& type, int64_t length, BufferPtr validity) {
    return make_value(type, length, std::move(validity), std::move(values_));
  }

 private:
  std::shared_ptr<Buffer> values_;
  Out* out_;
};
template <>
class Sink<bool> {
 public:
  explicit Sink(int64_t length) : bits_(length, false) {}
  class Ref {
   public:
    Ref(uint64_t* words, int64_t row) : words_(words), row_(row) {}
    void operator=(bool value) {
      if (value) set_bit(words_, row_);
    }

   private:
    uint64_t* words_;
    int64_t row_;
  };
  Ref at(int64_t row) { return {bits_.words(), row}; }
  Value finish(const TypePtr& type, int64_t length, BufferPtr validity) {
    return make_value(type, length, std::move(validity), bits_.take());
  }

 private:
  Bits bits_;
};
template <>
class Sink<std::string> {
 public:
  explicit Sink(int64_t length) : writer_(length) {}
  TextWriter& at(int64_t row) {
    writer_.begin(row);
    return writer_;
  }
  Value finish(const TypePtr& type, int64_t, BufferPtr validity) {
    return writer_.finish(type, std::move(validity));
  }

 private:
  TextWriter writer_;
};

/// Validity that rows leave one by one. Copies the bitmap it starts from when the first one does.
class Validity {
 public:
  Validity(BufferPtr from, int64_t length) : shared_(std::move(from)), length_(length) {}
  void clear(int64_t row) {
    if (words_ == nullptr) own();
    clear_bit(words_, row);
  }
  BufferPtr take() { return words_ != nullptr ? BufferPtr(std::move(own_)) : std::move(shared_); }

 private:
  void own();
  BufferPtr shared_;
  std::shared_ptr<Buffer> own_;
  uint64_t* words_ = nullptr;
  int64_t length_;
};

/// Out (bool, a number, std::string) from arguments In..., row by row over the scope. `f(sink, in...)` writes
/// to `sink` (TextWriter& for text, else a reference) and returns Row or bool (false: NULL). NULL in, NULL
/// out.
template <class Out, class... In, class F>
Result<Value> map_rows(const Scope& scope, std::span<const Value> args, const TypePtr& type, F& f,
                       const char* name, ErrorCode code, const std::string& what) {
  const BufferPtr present = combined_validity(args, scope.length);
  Validity validity(present, scope.length);
  Sink<Out> sink(scope.length);
  int64_t failed = -1;
  [&]<size_t... I>(std::index_sequence<I...>) {
    const std::tuple<Reader<In>...> in{Reader<In>(args[I])...};
    each_present(scope, present, [&](int64_t row) {
      auto&& out = sink.at(row);
      const Row outcome = static_cast<Row>(f(out, std::get<I>(in)[row]...));
      if (outcome == Row::kValue) [[likely]]
        return true;
      if (outcome == Row::kFailed) {
        failed = row;
        return false;
      }
      validity.clear(row);
      return true;
    });
  }(std::index_sequence_for<In...>{});
  if (failed >= 0) return row_error(code, what, name, args, failed);
  return sink.finish(type, scope.length, validity.take());
}

/// A node of a row function that cannot fail.
template <class Out, class... In, class F>
NodePtr make_row_call(const TypePtr& type, std::vector<NodePtr> args, F f) {
  return make_call(type, std::move(args), {},
                   [type, f](const Scope& scope, std::span<const Value> values) mutable {
                     return map_rows<Out, In...>(scope, values, type, f, "", ErrorCode::kOverflow, "");
                   });
}

/// A node of a row function that may fail; `what` says how, `name` is the function in the message.
template <class Out, class... In, class F>
NodePtr make_failing_call(const TypePtr& type, std::vector<NodePtr> args, const char* name, ErrorCode code,
                          const std::string& what, F f) {
  return make_call(type, std::move(args), {.fails = true},
                   [type, name, code, what, f](const Scope& scope, std::span<const Value> values) mutable {
                     return map_rows<Out, In...>(scope, values, type, f, name, code, what);
                   });
}

}  // namespace strand::expr
