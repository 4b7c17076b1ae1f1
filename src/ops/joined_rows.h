// The rows of one side of a regular join.
#pragma once

#include <cstdint>
#include <deque>
#include <string_view>

#include "base/ids.h"
#include "state/key_slots.h"

namespace strand::ops {

/// Rows by their bytes (columnar::encode_key over all columns), listed by join key. Belongs to one operator.
class JoinedRows {
 public:
  struct Row {
    int64_t count = 0;     // how often it is there
    int64_t partners = 0;  // of an outer side
    WallTime written;
    uint32_t key = 0;
    uint32_t next = kNone;  // of the same key
    uint32_t previous = kNone;
  };
  struct Key {
    uint32_t first = kNone;
  };
  using Id = uint32_t;
  static constexpr Id kNone = ~Id{0};

  /// One more of the row.
  Row& add(uint64_t key_hash, std::string_view key, std::string_view row, WallTime now);
  /// One less; false where there is none.
  bool remove(std::string_view row);
  /// The first row with that key, in no defined order; `row(id).next` is the next.
  Id first(uint64_t key_hash, std::string_view key) const;
  Row& row(Id id) { return rows_[id]; }
  std::string_view bytes(Id id) const { return rows_.key(id); }
  void write(Id id, WallTime now);

  /// Forgets rows that were written at or before `until`; returns how many (counted as often as they were
  /// there).
  int64_t forget(WallTime until);
  /// When the oldest row was written; never() if there is none.
  WallTime oldest();
  /// Asked for before the first row: `forget` and `oldest` are used.
  void keep_order() { ordered_ = true; }

  int64_t count() const { return count_; }
  int64_t memory_bytes() const {
    return rows_.memory_bytes() + keys_.memory_bytes() + static_cast<int64_t>(writes_.size() * sizeof(Write));
  }
  /// Calls f(id) for each row, in the order of their numbers.
  template <class F>
  void for_each(F&& f) const {
    rows_.for_each(f);
  }
  const Row& row(Id id) const { return rows_[id]; }

 private:
  struct Write {
    WallTime at;
    Id id;
  };
  void erase(Id id);
  bool is_newest(const Write& write) const;

  state::KeySlots<Row> rows_;
  state::KeySlots<Key> keys_;
  std::deque<Write> writes_;  // in order of time; some are out of date
  bool ordered_ = false;
  int64_t count_ = 0;
};

}  // namespace strand::ops
