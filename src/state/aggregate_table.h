// Keys with their running aggregates: one window slice, or all groups of an aggregation.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "state/accumulators.h"
#include "state/key_table.h"

namespace strand::state {

/// What a row of an AggregateTable holds beside its accumulators.
struct AggregateLayout {
  std::shared_ptr<const Accumulators> accumulators;
  /// The accumulators as last emitted, and whether they were (replay.md F4).
  bool emitted = false;
  /// Until when the key is kept.
  bool expiry = false;
};

/// A KeyTable whose rows are accumulators. Belongs to one operator.
class AggregateTable {
 public:
  AggregateTable(StatePages& memory, AggregateLayout layout);

  void find_or_add(std::span<const uint64_t> hashes, std::span<const std::string_view> keys,
                   std::span<char*> rows) {
    keys_.find_or_add(hashes, keys, rows);
  }
  int64_t size() const { return keys_.size(); }
  void clear();
  size_t own_bytes() const {
    return keys_.own_bytes() + values_.big_bytes() + touched_.capacity() * sizeof(char*);
  }
  ByteArena& values() { return values_; }
  /// Adds the accumulators of another table with the same ones, new keys in their order.
  void add(const AggregateTable& other);
  const Accumulators& accumulators() const { return *layout_.accumulators; }
  template <class F>
  void for_each(F&& f) const {
    keys_.for_each(f);
  }

  // With layout.emitted.
  /// Remembers rows that may have changed since they were emitted, straight behind `find_or_add`.
  void touch(std::span<char* const> rows);
  bool any_touched() const { return !touched_.empty(); }
  /// Calls f(row, before) for the rows that differ from what was emitted of them, in the order in which they
  /// were touched; `before` is what was emitted, or null. They count as emitted then. An error of f ends it.
  template <class F>
  Status emit_changed(F&& f);
  bool was_emitted(const char* row) const { return (flags(row) & kEmitted) != 0; }
  /// Whether `find_or_add` has only just made the row.
  bool is_new(const char* row) const { return flags(row) == 0; }
  const char* emitted(const char* row) const { return row + layout_.accumulators->bytes(); }

  // With layout.expiry. A new row has EventTime::min().
  EventTime expiry(const char* row) const;
  void set_expiry(char* row, EventTime expiry) const;
  /// A row as if its key had never been there.
  void reset(char* row) const;
  /// Keeps only the rows for which keep(row) is true, in their order.
  template <class F>
  void retain(F&& keep);

  /// For a snapshot, see KeyTable.
  std::vector<TablePart> parts(const std::shared_ptr<FrozenPages>& frozen) const {
    return keys_.parts(frozen);
  }
  /// The number of rows, and the rows. On any thread.
  static void encode(const AggregateLayout& layout, const FrozenRows& rows, ByteWriter& out);
  /// The same of some of its rows as they are now; `memory` has just been frozen.
  void encode(std::span<const char* const> rows, FrozenPages& memory, ByteWriter& out) const;
  const AggregateLayout& layout() const { return layout_; }
  /// The values of a row without its key; `memory` has just been frozen. And back, into the row of that key.
  void encode_values(const char* row, FrozenPages& memory, ByteWriter& out) const {
    encode_row(layout_, row, memory, out);
  }
  Status decode_values(ByteReader& in, char* row) { return decode_row(in, row, layout_.emitted); }
  /// Makes room for rows of a snapshot, see KeyTable.
  void reserve(int64_t rows, size_t bytes) { keys_.reserve(rows, bytes); }
  /// Adds what `encode` wrote, without keys of other groups. Rows that differ from what was emitted are
  /// touched. `emitted_too`: the table that wrote it had layout.emitted; this one need not agree.
  Status decode(ByteReader& in, KeyGroupRange groups, int32_t max_parallelism, bool emitted_too);
  bool keeps_emitted() const { return layout_.emitted; }

 private:
  static constexpr uint8_t kEmitted = 1;
  static constexpr uint8_t kTouched = 2;

  static size_t flags_at(const AggregateLayout& layout) { return 2 * layout.accumulators->bytes(); }
  size_t flags_at() const { return flags_at(layout_); }
  uint8_t flags(const char* row) const { return static_cast<uint8_t>(row[flags_at()]); }
  void set_flags(char* row, uint8_t flags) const { row[flags_at()] = static_cast<char>(flags); }
  Status skip_row(ByteReader& in, bool emitted_too) const;
  Status decode_row(ByteReader& in, char* row, bool emitted_too);
  static void encode_row(const AggregateLayout& layout, const char* row, FrozenPages& memory,
                         ByteWriter& out);
  static size_t payload_bytes(const AggregateLayout& layout);
  static EventTime expiry_at(const char* at);
  void copy_row(const char* from, char* to);

  StatePages* memory_;
  AggregateLayout layout_;
  size_t payload_;
  KeyTable keys_;
  ByteArena values_;
  std::vector<char*> touched_;
  uint64_t touched_at_ = 0;  // freezes before the first of them
};

template <class F>
Status AggregateTable::emit_changed(F&& f) {
  const bool frozen_since = memory_->freezes() != touched_at_;
  for (char* row : touched_) {
    if (frozen_since) keys_.touch(row);
    char* last = row + layout_.accumulators->bytes();
    const bool before = was_emitted(row);
    set_flags(row, kEmitted);
    if (before && layout_.accumulators->equal(row, last)) continue;
    STRAND_OK(f(row, before ? last : nullptr));
    layout_.accumulators->copy(row, last, values_);
  }
  touched_.clear();
  return Status();
}

template <class F>
void AggregateTable::retain(F&& keep) {
  AggregateTable kept(*memory_, layout_);
  keys_.for_each([&](char* row) {
    if (!keep(row)) return;
    const uint64_t hash = KeyTable::hash_of(row);
    const std::string_view key = KeyTable::key_of(row);
    char* copy = nullptr;
    kept.keys_.find_or_add({&hash, 1}, {&key, 1}, {&copy, 1});
    kept.copy_row(row, copy);
  });
  keys_.swap(kept.keys_);
  values_.swap(kept.values_);
}

}  // namespace strand::state
