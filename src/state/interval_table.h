// Rows of two inputs by key, in time order, until event time has passed them.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "columnar/batch.h"

namespace strand::state {

/// Holds the rows of the two sides of an interval join.
///
/// Rows are not copied: they stay in the batches in which they came. Each side keeps, per slice of event
/// time, one array of fixed-size entries; the entries of a key are linked from its newest row to its oldest,
/// through the slices. A slice is dropped whole, with its batches, when event time has passed all its rows.
/// One hash table finds a key of either side, so a row that is looked up and then added costs one lookup.
///
/// A row may be cut off (it is dead, nobody finds it) long before its slice goes; a row that is still linked
/// holds its slice. Belongs to one operator.
class IntervalTable {
 public:
  using Ref = uint64_t;
  static constexpr Ref kNoRow = ~Ref{0};
  using KeyId = uint32_t;
  static constexpr KeyId kNoKey = ~KeyId{0};

  struct Row {
    int64_t time;
    Ref older;             // of the same key and side
    std::string_view key;  // lives in the slice
    KeyId key_id;
    uint32_t piece;  // of the slice's batches
    uint32_t row;    // physical
    bool matched = false;
    bool dead = false;
  };
  struct Side {
    Ref newest = kNoRow;
    int64_t timer = kNoTimer;
  };
  struct Key {
    uint64_t hash = 0;
    std::string_view bytes;  // of some row that is linked
    std::array<Side, 2> sides;
    uint32_t visit = 0;  // free for the owner
  };
  static constexpr int64_t kNoTimer = INT64_MAX;

  /// `width`: of a slice, in milliseconds.
  explicit IntervalTable(int64_t width) : width_(width) { slots_.resize(64); }

  /// Asks for the memory that `find` will read.
  void prefetch(uint64_t hash) const { __builtin_prefetch(&slots_[hash & mask()]); }
  KeyId find(uint64_t hash, std::string_view key) const;
  /// As find; makes the key, without rows, if it is not there. Its bytes are those of its first row.
  KeyId find_or_add(uint64_t hash, std::string_view key);
  Key& key(KeyId id) { return keys_[id]; }
  /// Forgets a key that has no rows.
  void release_if_empty(KeyId id);

  /// Adds a row of `batch`; rows of one batch come one after the other. Behind rows of the same time.
  Row& add(size_t side, KeyId key, int64_t time, const columnar::Batch& batch, uint32_t row);
  Row& row(Ref ref) { return slices_[ref >> 32]->rows[static_cast<uint32_t>(ref)]; }
  const columnar::Batch& batch_of(Ref ref) const {
    const Slice& slice = *slices_[ref >> 32];
    return slice.pieces[slice.rows[static_cast<uint32_t>(ref)].piece];
  }

  /// Cuts off the rows of the key with time <= `through`; f(ref) sees each, oldest first.
  template <class F>
  void cut(size_t side, KeyId id, int64_t through, F&& f) {
    Ref* link = &keys_[id].sides[side].newest;
    while (*link != kNoRow && row(*link).time > through) link = &row(*link).older;
    if (*link == kNoRow) return;
    removed_.clear();
    for (Ref ref = *link; ref != kNoRow; ref = row(ref).older) removed_.push_back(ref);
    *link = kNoRow;
    for (size_t i = removed_.size(); i-- > 0;) {
      row(removed_[i]).dead = true;
      f(removed_[i]);
    }
    live_ -= static_cast<int64_t>(removed_.size());
    name_key(id);
  }
  /// The time of the oldest linked row; kNoTimer if there is none.
  int64_t oldest(size_t side, KeyId id);

  /// Drops the slices of a side whose rows are all at or before `through`. visit(key) comes first for the
  /// keys that still have rows there and may cut them; a slice with rows that stay is kept.
  template <class F>
  void drop(size_t side, int64_t through, F&& visit) {
    auto& sides = by_time_[side];
    for (auto it = sides.begin(); it != sides.end() && last_of(it->first) <= through;) {
      Slice& slice = *slices_[it->second];
      bool held = false;
      for (size_t i = 0; i < slice.rows.size(); ++i) {
        if (slice.rows[i].dead) continue;
        const KeyId id = slice.rows[i].key_id;
        visit(id);
        held = held || !slice.rows[i].dead;
        release_if_empty(id);
      }
      if (held) {
        ++it;
        continue;
      }
      free_slices_.push_back(it->second);
      bytes_ -= slice.bytes;
      slices_[it->second].reset();
      it = sides.erase(it);
    }
  }

  /// Calls f(ref) for every linked row of a side: slices by time, rows in order of arrival.
  template <class F>
  void for_each(size_t side, F&& f) {
    for (const auto& [time, slot] : by_time_[side]) {
      for (size_t i = 0; i < slices_[slot]->rows.size(); ++i) {
        if (!slices_[slot]->rows[i].dead) f((Ref{slot} << 32) | i);
      }
    }
  }

  /// Linked rows.
  int64_t rows() const { return live_; }
  int64_t keys() const { return used_; }
  int64_t memory_bytes() const;

 private:
  struct Slice {
    std::vector<Row> rows;
    std::vector<columnar::Batch> pieces;
    std::vector<std::unique_ptr<char[]>> blocks;  // of key bytes
    size_t block_used = 0;
    size_t block_size = 0;
    int64_t bytes = 0;
    std::string_view store(std::string_view key);
  };
  uint64_t mask() const { return slots_.size() - 1; }
  uint32_t slice_of(size_t side, int64_t time);
  /// The last time that falls into the slice.
  int64_t last_of(int64_t index) const {
    int64_t end = 0;
    if (__builtin_mul_overflow(index + 1, width_, &end)) return INT64_MAX;
    return end - 1;
  }
  /// Has the key named by a row that is linked.
  void name_key(KeyId id);
  void grow();
  size_t slot_of(uint64_t hash, std::string_view key) const;

  int64_t width_;
  // Open addressing: 32 bits of hash and key number + 1; 0 is empty.
  std::vector<uint64_t> slots_;
  int64_t used_ = 0;
  std::vector<Key> keys_;
  std::vector<KeyId> free_keys_;
  std::vector<std::unique_ptr<Slice>> slices_;
  std::vector<uint32_t> free_slices_;
  std::array<std::map<int64_t, uint32_t>, 2> by_time_;  // number of the slice in time -> its place
  std::vector<Ref> removed_;
  int64_t live_ = 0;
  int64_t bytes_ = 0;
};

}  // namespace strand::state
