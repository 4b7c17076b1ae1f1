// What values take in memory beside themselves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <type_traits>
#include <vector>

namespace strand::state {

/// Bytes that a value has allocated, about: of a container with many elements it is told from the first and
/// the last, so that asking takes no longer the more there are. Overloaded beside the types that state holds.
template <class T>
  requires std::is_trivially_copyable_v<T>
int64_t held_bytes(const T&) {
  return 0;
}
inline int64_t held_bytes(const std::string& text) {
  constexpr size_t kInside = 15;  // characters that need no memory of their own
  constexpr int64_t kBlock = 16;
  return text.capacity() > kInside ? static_cast<int64_t>(text.capacity()) + kBlock : 0;
}
template <class T>
int64_t held_bytes(const std::vector<T>& values) {
  if (values.empty()) return 0;
  const int64_t each = (held_bytes(values.front()) + held_bytes(values.back())) / 2;
  return static_cast<int64_t>(values.capacity() * sizeof(T)) + static_cast<int64_t>(values.size()) * each;
}
template <class K, class V>
int64_t held_bytes(const std::map<K, V>& entries) {
  constexpr int64_t kNode = 48;
  if (entries.empty()) return 0;
  const auto& first = *entries.begin();
  const auto& last = *entries.rbegin();
  const int64_t each = (held_bytes(first.first) + held_bytes(first.second) + held_bytes(last.first) +
                        held_bytes(last.second)) /
                       2;
  return static_cast<int64_t>(entries.size()) * (kNode + static_cast<int64_t>(sizeof first) + each);
}

}  // namespace strand::state
