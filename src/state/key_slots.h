// Keys, and a value of any type for each of them.
#pragma once

#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "state/key_table.h"

namespace strand::state {

/// A map from keys to values that come and go one by one.
///
/// A key has a number while it is there; numbers of forgotten keys are used again. Values stay where they
/// are. Keys are bytes, data() == nullptr is NULL; the hash is the engine's. Belongs to one operator.
template <class T>
class KeySlots {
 public:
  using Id = uint32_t;
  static constexpr Id kNone = ~Id{0};

  Id find(uint64_t hash, std::string_view key) const {
    if (slots_.empty()) return kNone;
    const uint64_t slot = slots_[place_of(hash, key)];
    return slot == 0 ? kNone : static_cast<Id>(slot) - 1;
  }
  /// As find; adds the key with a value T{} if it is not there.
  Id find_or_add(uint64_t hash, std::string_view key) {
    if (static_cast<uint64_t>(used_ + 1) * 10 > slots_.size() * 7) grow();
    const size_t place = place_of(hash, key);
    if (slots_[place] != 0) return static_cast<Id>(slots_[place]) - 1;
    Id id = static_cast<Id>(entries_.size());
    if (free_.empty()) {
      entries_.emplace_back();
    } else {
      id = free_.back();
      free_.pop_back();
    }
    entries_[id] = Entry{hash, std::string(key), key.data() == nullptr, true, T{}};
    slots_[place] = slot_of(hash, id);
    key_bytes_ += static_cast<int64_t>(key.size());
    ++used_;
    return id;
  }
  /// Asks for the memory that a look for a key of this hash will read first.
  void prefetch(uint64_t hash) const {
    if (!slots_.empty()) __builtin_prefetch(&slots_[hash & mask()]);
  }
  void erase(Id id) {
    size_t hole = place_of(hash(id), key(id));
    slots_[hole] = 0;
    for (size_t at = (hole + 1) & mask(); slots_[at] != 0; at = (at + 1) & mask()) {
      const size_t home = entries_[static_cast<Id>(slots_[at]) - 1].hash & mask();
      if (((at - home) & mask()) < ((at - hole) & mask())) continue;
      slots_[hole] = std::exchange(slots_[at], 0);
      hole = at;
    }
    key_bytes_ -= static_cast<int64_t>(entries_[id].bytes.size());
    entries_[id] = Entry{};
    free_.push_back(id);
    --used_;
  }

  T& operator[](Id id) { return entries_[id].value; }
  const T& operator[](Id id) const { return entries_[id].value; }
  uint64_t hash(Id id) const { return entries_[id].hash; }
  /// Valid while the key is there.
  std::string_view key(Id id) const {
    const Entry& entry = entries_[id];
    return entry.null ? std::string_view() : std::string_view(entry.bytes);
  }
  int64_t size() const { return used_; }
  /// Without what the values hold.
  int64_t memory_bytes() const {
    return static_cast<int64_t>(entries_.size() * sizeof(Entry) + slots_.size() * sizeof(uint64_t)) +
           key_bytes_;
  }

  /// Calls f(id) for each key, in the order of their numbers.
  template <class F>
  void for_each(F&& f) const {
    for (Id id = 0; id < entries_.size(); ++id) {
      if (entries_[id].used) f(id);
    }
  }

  /// Hash and key, as KeyTable::decode_key reads them.
  void encode_key(Id id, ByteWriter& out) const { KeyTable::encode_key(hash(id), key(id), out); }

 private:
  struct Entry {
    uint64_t hash = 0;
    std::string bytes;
    bool null = false;
    bool used = false;
    T value{};
  };
  // Open addressing: 32 bits of hash and number + 1; 0 is empty.
  static uint64_t slot_of(uint64_t hash, Id id) {
    return (hash & 0xFFFFFFFF00000000ull) | (uint64_t{id} + 1);
  }
  uint64_t mask() const { return slots_.size() - 1; }
  size_t place_of(uint64_t hash, std::string_view key) const {
    for (size_t at = hash & mask();; at = (at + 1) & mask()) {
      if (slots_[at] == 0) return at;
      if ((slots_[at] ^ hash) >> 32 != 0) continue;
      const Entry& entry = entries_[static_cast<Id>(slots_[at]) - 1];
      if (entry.hash == hash && entry.null == (key.data() == nullptr) && entry.bytes == key) return at;
    }
  }
  void grow() {
    slots_.assign(slots_.empty() ? 64 : slots_.size() * 2, 0);
    for (Id id = 0; id < entries_.size(); ++id) {
      if (!entries_[id].used) continue;
      size_t at = entries_[id].hash & mask();
      while (slots_[at] != 0) at = (at + 1) & mask();
      slots_[at] = slot_of(entries_[id].hash, id);
    }
  }

  std::vector<uint64_t> slots_;
  std::deque<Entry> entries_;
  std::vector<Id> free_;
  int64_t used_ = 0;
  int64_t key_bytes_ = 0;
};

}  // namespace strand::state
