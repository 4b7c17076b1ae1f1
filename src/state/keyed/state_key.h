// What a value of keyed state or a timer belongs to.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/bytes.h"
#include "base/hash.h"

namespace strand::state {

/// A part of a key's state: a window (its start and end), or nothing of the kind ({0, 0}).
struct Namespace {
  int64_t first = 0;
  int64_t second = 0;
  friend auto operator<=>(const Namespace&, const Namespace&) = default;
};

struct StateKeyView {
  int32_t group = 0;
  std::string_view key;
  Namespace space;
  friend bool operator==(const StateKeyView&, const StateKeyView&) = default;
};

/// Owns its key. Ordered by key group first, so that a group's entries are neighbours.
struct StateKey {
  int32_t group = 0;
  std::string key;
  Namespace space;
  StateKeyView view() const { return {group, key, space}; }
  friend auto operator<=>(const StateKey&, const StateKey&) = default;
};

void save_key(const StateKey& key, ByteWriter& out);
Result<StateKey> load_key(ByteReader& in);

struct StateKeyHash {
  using is_transparent = void;
  size_t operator()(const StateKeyView& k) const {
    const uint64_t space =
        combine_hash(static_cast<uint64_t>(k.space.first), static_cast<uint64_t>(k.space.second));
    return combine_hash(hash64(k.key), space);
  }
  size_t operator()(const StateKey& k) const { return (*this)(k.view()); }
};

struct StateKeyEqual {
  using is_transparent = void;
  static StateKeyView view(const StateKeyView& k) { return k; }
  static StateKeyView view(const StateKey& k) { return k.view(); }
  bool operator()(const auto& a, const auto& b) const { return view(a) == view(b); }
};

}  // namespace strand::state
