// Values as bytes: how state, keys and buffered elements are kept.
#pragma once

#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <vector>

#include "strandline/fields.h"
#include "strandline/time.h"

namespace strandline {

/// Bytes that are read from the front. Running past the end throws: they are not what was written.
class ByteInput {
 public:
  explicit ByteInput(std::string_view bytes) : bytes_(bytes) {}
  std::string_view take(size_t size) {
    if (size > bytes_.size()) throw std::runtime_error("a stored value ends too early");
    const std::string_view taken = bytes_.substr(0, size);
    bytes_.remove_prefix(size);
    return taken;
  }
  template <class N>
  N number() {
    N value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

 private:
  std::string_view bytes_;
};

namespace detail {
template <class N>
void put_number(N value, std::string& out) {
  char raw[sizeof value];
  std::memcpy(raw, &value, sizeof value);
  out.append(raw, sizeof raw);
}
}  // namespace detail

/// How values of a type are stored. Numbers, texts, times, optional, pair, tuple, vector, map and structs
/// with fields have it; specialise it for others. `name` describes the form: it is written beside the values,
/// and state of another form is refused, or carried over where that loses nothing (docs/api.md). `encode` and
/// `decode` are inverse.
template <class T>
struct Codec;

template <class T>
concept Storable = requires(const T& value, std::string& out, ByteInput& in) {
  { Codec<T>::name() } -> std::convertible_to<std::string>;
  Codec<T>::encode(value, out);
  { Codec<T>::decode(in) } -> std::convertible_to<T>;
};

template <class T>
  requires std::is_arithmetic_v<T>
struct Codec<T> {
  static std::string name() {
    if constexpr (std::is_same_v<T, bool>) return "bool";
    if constexpr (std::is_floating_point_v<T>) return sizeof(T) == 4 ? "float" : "double";
    return (std::is_signed_v<T> ? "int" : "uint") + std::to_string(8 * sizeof(T));
  }
  static void encode(T value, std::string& out) { detail::put_number(value, out); }
  static T decode(ByteInput& in) { return in.number<T>(); }
};

template <class T>
  requires std::is_enum_v<T>
struct Codec<T> {
  using Number = std::underlying_type_t<T>;
  static std::string name() { return Codec<Number>::name(); }
  static void encode(T value, std::string& out) { detail::put_number(static_cast<Number>(value), out); }
  static T decode(ByteInput& in) { return static_cast<T>(in.number<Number>()); }
};

template <>
struct Codec<std::string> {
  static std::string name() { return "string"; }
  static void encode(const std::string& value, std::string& out) {
    detail::put_number(static_cast<uint32_t>(value.size()), out);
    out += value;
  }
  static std::string decode(ByteInput& in) { return std::string(in.take(in.number<uint32_t>())); }
};

template <>
struct Codec<Timestamp> {
  static std::string name() { return "timestamp"; }
  static void encode(Timestamp value, std::string& out) { detail::put_number(millis_of(value), out); }
  static Timestamp decode(ByteInput& in) { return timestamp_of(in.number<int64_t>()); }
};

template <>
struct Codec<Millis> {
  static std::string name() { return "duration"; }
  static void encode(Millis value, std::string& out) { detail::put_number(int64_t{value.count()}, out); }
  static Millis decode(ByteInput& in) { return Millis(in.number<int64_t>()); }
};

template <class T>
struct Codec<std::optional<T>> {
  static std::string name() { return "optional<" + Codec<T>::name() + ">"; }
  static void encode(const std::optional<T>& value, std::string& out) {
    detail::put_number(static_cast<uint8_t>(value.has_value()), out);
    if (value) Codec<T>::encode(*value, out);
  }
  static std::optional<T> decode(ByteInput& in) {
    if (in.number<uint8_t>() == 0) return std::nullopt;
    return Codec<T>::decode(in);
  }
};

template <class T>
struct Codec<std::vector<T>> {
  static std::string name() { return "list<" + Codec<T>::name() + ">"; }
  static void encode(const std::vector<T>& values, std::string& out) {
    detail::put_number(static_cast<uint32_t>(values.size()), out);
    for (const T& value : values) Codec<T>::encode(value, out);
  }
  static std::vector<T> decode(ByteInput& in) {
    std::vector<T> values;
    for (auto left = in.number<uint32_t>(); left > 0; --left) values.push_back(Codec<T>::decode(in));
    return values;
  }
};

template <class K, class V>
struct Codec<std::map<K, V>> {
  static std::string name() { return "map<" + Codec<K>::name() + "," + Codec<V>::name() + ">"; }
  static void encode(const std::map<K, V>& entries, std::string& out) {
    detail::put_number(static_cast<uint32_t>(entries.size()), out);
    for (const auto& [key, value] : entries) {
      Codec<K>::encode(key, out);
      Codec<V>::encode(value, out);
    }
  }
  static std::map<K, V> decode(ByteInput& in) {
    std::map<K, V> entries;
    for (auto left = in.number<uint32_t>(); left > 0; --left) {
      K key = Codec<K>::decode(in);
      V value = Codec<V>::decode(in);
      entries.emplace_hint(entries.end(), std::move(key), std::move(value));
    }
    return entries;
  }
};

/// Pairs and tuples are rows whose fields have the names f0, f1, ...
template <class... T>
struct Codec<std::tuple<T...>> {
  static std::string name() {
    std::string text;
    size_t i = 0;
    ((text += (i == 0 ? "" : ",") + ("f" + std::to_string(i)) + ":" + Codec<T>::name(), ++i), ...);
    return "row{" + text + "}";
  }
  static void encode(const std::tuple<T...>& value, std::string& out) {
    std::apply([&](const T&... part) { (Codec<T>::encode(part, out), ...); }, value);
  }
  static std::tuple<T...> decode(ByteInput& in) { return std::tuple<T...>{Codec<T>::decode(in)...}; }
};
template <class A, class B>
struct Codec<std::pair<A, B>> {
  static std::string name() { return Codec<std::tuple<A, B>>::name(); }
  static void encode(const std::pair<A, B>& value, std::string& out) {
    Codec<A>::encode(value.first, out);
    Codec<B>::encode(value.second, out);
  }
  static std::pair<A, B> decode(ByteInput& in) { return {Codec<A>::decode(in), Codec<B>::decode(in)}; }
};

template <Struct T>
struct Codec<T> {
  static std::string name() {
    std::string text;
    for_each_field<T>([&]<class M>(const char* field, M T::*) {
      text += (text.empty() ? "" : ",") + std::string(field) + ":" + Codec<M>::name();
    });
    return "row{" + text + "}";
  }
  static void encode(const T& value, std::string& out) {
    for_each_field<T>([&]<class M>(const char*, M T::* member) { Codec<M>::encode(value.*member, out); });
  }
  static T decode(ByteInput& in) {
    T value{};
    for_each_field<T>([&]<class M>(const char*, M T::* member) { value.*member = Codec<M>::decode(in); });
    return value;
  }
};

namespace detail {
template <class T>
std::string encoded(const T& value) {
  std::string bytes;
  Codec<T>::encode(value, bytes);
  return bytes;
}
template <class T>
T decoded(std::string_view bytes) {
  ByteInput in(bytes);
  return Codec<T>::decode(in);
}
}  // namespace detail

}  // namespace strandline
