// How values of keyed state are written to snapshots.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace strand::state {

/// Specialised for every type that keyed state may hold: `name()` is written beside the values, so that a
/// state whose type has changed is refused; `encode` and `decode` are inverse.
template <class T>
struct Codec;

template <>
struct Codec<int64_t> {
  static std::string name() { return "int64"; }
  static void encode(int64_t value, ByteWriter& out) { out.put(value); }
  static Result<int64_t> decode(ByteReader& in) { return in.get<int64_t>(); }
};

template <>
struct Codec<double> {
  static std::string name() { return "double"; }
  static void encode(double value, ByteWriter& out) { out.put(value); }
  static Result<double> decode(ByteReader& in) { return in.get<double>(); }
};

template <>
struct Codec<std::string> {
  static std::string name() { return "string"; }
  static void encode(const std::string& value, ByteWriter& out) { out.put_string(value); }
  static Result<std::string> decode(ByteReader& in) {
    STRAND_TRY(const std::string_view text, in.get_string());
    return std::string(text);
  }
};

template <class T>
struct Codec<std::vector<T>> {
  static std::string name() { return "list<" + Codec<T>::name() + ">"; }
  static void encode(const std::vector<T>& values, ByteWriter& out) {
    out.put(static_cast<uint32_t>(values.size()));
    for (const T& value : values) Codec<T>::encode(value, out);
  }
  static Result<std::vector<T>> decode(ByteReader& in) {
    STRAND_TRY(const uint32_t size, in.get<uint32_t>());
    std::vector<T> values;
    for (uint32_t i = 0; i < size; ++i) {
      STRAND_TRY(T value, Codec<T>::decode(in));
      values.push_back(std::move(value));
    }
    return values;
  }
};

template <class K, class V>
struct Codec<std::map<K, V>> {
  static std::string name() { return "map<" + Codec<K>::name() + "," + Codec<V>::name() + ">"; }
  static void encode(const std::map<K, V>& entries, ByteWriter& out) {
    out.put(static_cast<uint32_t>(entries.size()));
    for (const auto& [key, value] : entries) {
      Codec<K>::encode(key, out);
      Codec<V>::encode(value, out);
    }
  }
  static Result<std::map<K, V>> decode(ByteReader& in) {
    STRAND_TRY(const uint32_t size, in.get<uint32_t>());
    std::map<K, V> entries;
    for (uint32_t i = 0; i < size; ++i) {
      STRAND_TRY(K key, Codec<K>::decode(in));
      STRAND_TRY(V value, Codec<V>::decode(in));
      entries.emplace_hint(entries.end(), std::move(key), std::move(value));
    }
    return entries;
  }
};

}  // namespace strand::state
