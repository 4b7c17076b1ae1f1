// Rows of two inputs by key, in time order, until event time has passed them.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/floor_div.h"
#include "base/ids.h"
#include "columnar/batch.h"
#include "state/cold_records.h"
#include "state/paged_array.h"
#include "state/row_bunch.h"
#include "state/snapshot.h"

namespace strand::state {

/// Holds the rows of the two sides of an interval join.
///
/// Rows are not copied: they stay in the batches in which they came. Each side keeps, per slice of event
/// time, one array of fixed-size entries; the entries of a key are linked from its newest row to its oldest,
/// through the slices. A slice is dropped whole, with its batches, when event time has passed all its rows.
/// Entries and keys lie on pages that a snapshot takes as they are (`freeze`), and slices that have not
/// changed need not be written again.
/// One hash table finds a key of either side, so a row that is looked up and then added costs one lookup.
///
/// A row may be cut off (it is dead, nobody finds it) long before its slice goes; a row that is still linked
/// holds its slice.
///
/// With a spill space the batches that came first go to the local disk when there is no room for them
/// (`make_room`), and their rows are read one by one; entries and keys stay in memory
/// (docs/adr/0015-cold-rows.md). Belongs to one operator.
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
    uint32_t piece;  // its batch: bunch of the slice * RowBunch::kBatchesMax + place in the bunch
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
  explicit IntervalTable(int64_t width) : width_(width), keys_(memory_) { slots_.resize(64); }

  /// From now on batches without room in memory go there, where it is not null. Before the first row.
  Status spill_to(SpillSpace* space);
  /// Between batches: hands over the oldest ones, if there is no room. Errors: kDiskFull, kIo, also that of a
  /// row that could not be read since.
  Status make_room();
  /// A section with rows of the first or second side, in whatever table.
  static bool is_section(const SectionRef& ref);

  /// Ask for the memory that `find` and what follows it will read: each reads what the one before it asked
  /// for, so each comes some rows later. (Inline always: a call of a function that only fetches memory would
  /// be taken for one without effect and dropped.)
  [[gnu::always_inline]] void prefetch_slot(uint64_t hash) const {
    __builtin_prefetch(&slots_[hash & mask()]);
  }
  [[gnu::always_inline]] void prefetch_key(uint64_t hash) const {
    if (const KeyId id = likely(hash); id != kNoKey) keys_.prefetch(id);
  }
  [[gnu::always_inline]] void prefetch_rows(uint64_t hash) const {
    const KeyId id = likely(hash);
    if (id == kNoKey) return;
    __builtin_prefetch(keys_[id].bytes.data());
    for (const Side& side : keys_[id].sides) prefetch_row(side.newest);
  }
  KeyId find(uint64_t hash, std::string_view key) const;
  /// As find; makes the key, without rows, if it is not there. Its bytes are those of its first row.
  KeyId find_or_add(uint64_t hash, std::string_view key);
  const Key& key(KeyId id) const { return keys_[id]; }
  /// Sets the owner's mark; false if it was that already.
  bool visit(KeyId id, uint32_t mark) { return std::exchange(keys_.scratch(id).visit, mark) != mark; }
  /// Snapshots hold the timer of a side of a key with its newest row.
  void set_timer(size_t side, KeyId id, int64_t time);
  /// Forgets a key that has no rows.
  void release_if_empty(KeyId id);

  /// Adds a row of `batch`; rows of one batch come one after the other. Behind rows of the same time.
  Row& add(size_t side, KeyId key, int64_t time, const columnar::Batch& batch, uint32_t row);
  const Row& row(Ref ref) const { return slices_[ref >> 32]->rows[static_cast<uint32_t>(ref)]; }
  void set_matched(Ref ref) {
    if (!row(ref).matched) change(ref).matched = true;
  }
  /// Null where the row is on the local disk.
  const columnar::Batch* batch_of(Ref ref) const {
    const Slice& slice = *slices_[ref >> 32];
    const uint32_t piece = slice.rows[static_cast<uint32_t>(ref)].piece;
    const columnar::Batch* const batches = slice.bunches[piece / RowBunch::kBatchesMax]->in_memory();
    return batches == nullptr ? nullptr : batches + piece % RowBunch::kBatchesMax;
  }
  /// The row as columnar::encode_key gives it, where it is on the local disk; good until `let_go`.
  std::string_view cold_row(Ref ref) const;
  void let_go() const {
    if (cold_ != nullptr) cold_->let_go();
  }

  /// Cuts off the rows of the key with time <= `through`; f(ref) sees each, oldest first.
  template <class F>
  void cut(size_t side, KeyId id, int64_t through, F&& f) {
    Ref newer = kNoRow;
    Ref at = keys_[id].sides[side].newest;
    for (; at != kNoRow && row(at).time > through; at = row(at).older) newer = at;
    if (at == kNoRow) return;
    removed_.clear();
    for (; at != kNoRow; at = row(at).older) removed_.push_back(at);
    link(side, id, newer, kNoRow);
    for (size_t i = removed_.size(); i-- > 0;) {
      change(removed_[i]).dead = true;
      f(removed_[i]);
    }
    live_ -= static_cast<int64_t>(removed_.size());
    name_key(id);
  }
  /// The time of the oldest linked row; kNoTimer if there is none.
  int64_t oldest(size_t side, KeyId id) const;

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
      forget_slice(it->second);
      it = sides.erase(it);
    }
  }

  /// Calls f(ref) for the linked rows of a side at or before `through`.
  template <class F>
  void for_each(size_t side, int64_t through, F&& f) {
    for (const auto& [index, slot] : by_time_[side]) {
      if (index > floor_div(through, width_)) return;
      linked(slot, through, found_);
      for (size_t i = 0; i < found_.size(); ++i) {
        if (i + 2 * kAhead < found_.size()) keys_.prefetch(row(found_[i + 2 * kAhead]).key_id);
        if (i + kAhead < found_.size()) prefetch_sides(row(found_[i + kAhead]).key_id);
        if (!row(found_[i]).dead) f(found_[i]);
      }
    }
  }

  using Bunches = std::vector<std::shared_ptr<RowBunch>>;
  /// A row as a snapshot reads it: in a batch, or else as bytes.
  struct FrozenRow {
    const Row& entry;
    int64_t timer;  // of its key and side
    const columnar::Batch* batch;
    std::string_view bytes;
  };
  /// A part of a slice as it was at a freeze.
  struct Frozen {
    size_t side;
    TablePart part;
    uint64_t bytes;  // of the rows, about
    std::shared_ptr<const Bunches> bunches;
    std::shared_ptr<const FrozenRows> keys;
    /// Calls f(FrozenRow) for the linked rows in the order in which they came. Error: kIo.
    template <class F>
    Status for_each(F&& f) const {
      Reader reader(*bunches);
      Status status;
      size_t at = part.first_page * PagedArray<Row>::kPerPage;
      part.rows.for_each([&](const char* entry) {
        const size_t number = at++;
        const auto& row = *reinterpret_cast<const Row*>(entry);
        if (row.dead || !status.ok()) return;
        status = reader.reach(row, number);
        if (status.ok()) f(FrozenRow{row, timer_of(row.key_id), reader.batch, reader.bytes});
      });
      return status;
    }
    int64_t timer_of(KeyId id) const;
  };
  /// All slices by side and time.
  std::vector<Frozen> freeze();
  uint64_t freezes() const { return memory_.freezes(); }

  /// Linked rows.
  int64_t rows() const { return live_; }
  int64_t keys() const { return used_; }
  int64_t memory_bytes() const;

 private:
  struct Slice {
    Slice(StatePages& memory, uint64_t n) : number(n), rows(memory) {}
    uint64_t number;  // of all slices that there were
    PagedArray<Row> rows;
    Bunches bunches;
    const columnar::Batch* last_batch = nullptr;
    size_t part_pages = 0;                        // of its parts in snapshots; 0: not known yet
    uint64_t row_bytes = 0;                       // of a row of its last batch, about
    std::vector<std::unique_ptr<char[]>> blocks;  // of key bytes
    size_t block_used = 0;
    size_t block_size = 0;
    int64_t bytes = 0;  // of them, and of where rows lie on the local disk
    std::string_view store(std::string_view key);
  };
  /// A bunch in memory that may be handed over.
  struct Warm {
    uint32_t slice;
    uint64_t number;
    size_t bunch;
  };
  /// Reads rows in the order in which they came, a bunch at a time.
  struct Reader {
    explicit Reader(const Bunches& of) : bunches(of) {}
    Status reach(const Row& row, size_t number);
    const Bunches& bunches;
    const RowBunch* bunch = nullptr;
    std::shared_ptr<const RowBunch::Batches> batches;
    std::string read;  // of a bunch on the local disk
    const columnar::Batch* batch = nullptr;
    std::string_view bytes;
  };
  static constexpr size_t kAhead = 12;
  uint64_t mask() const { return slots_.size() - 1; }
  /// Where an entry wants to be: it has the low half of the hash, and there are fewer slots than that.
  uint64_t home_of(uint64_t slot) const { return (slot >> 32) & mask(); }
  /// The key at its home, if it has the hash.
  KeyId likely(uint64_t hash) const {
    const uint64_t slot = slots_[hash & mask()];
    return slot != 0 && slot >> 32 == (hash & 0xFFFFFFFF) ? static_cast<KeyId>(slot) - 1 : kNoKey;
  }
  [[gnu::always_inline]] void prefetch_row(Ref ref) const {
    if (ref != kNoRow) slices_[ref >> 32]->rows.prefetch(static_cast<uint32_t>(ref));
  }
  [[gnu::always_inline]] void prefetch_sides(KeyId id) const {
    prefetch_slot(keys_[id].hash);
    for (const Side& side : keys_[id].sides) prefetch_row(side.newest);
  }
  /// The rows of a slice at or before `through` that are linked.
  void linked(uint32_t slot, int64_t through, std::vector<Ref>& out) const;
  uint32_t slice_of(size_t side, int64_t time);
  /// The last time that falls into the slice.
  int64_t last_of(int64_t index) const {
    int64_t end = 0;
    if (__builtin_mul_overflow(index + 1, width_, &end)) return INT64_MAX;
    return end - 1;
  }
  Row& change(Ref ref) { return slices_[ref >> 32]->rows.change(static_cast<uint32_t>(ref)); }
  /// Makes `older` the row behind `newer`, or the newest of the key.
  void link(size_t side, KeyId id, Ref newer, Ref older);
  void add_batch(uint32_t place, const columnar::Batch& batch);
  void forget_slice(uint32_t place);
  Status spill(Slice& slice, size_t bunch);
  bool is_there(const Warm& warm) const {
    const auto& slice = slices_[warm.slice];
    return slice != nullptr && slice->number == warm.number;
  }
  size_t pages_of_parts(Slice& slice) const;
  /// Has the key named by a row that is linked.
  void name_key(KeyId id);
  void grow();
  size_t slot_of(uint64_t hash, std::string_view key) const;

  int64_t width_;
  StatePages memory_;  // outlives what lies on its pages
  // Open addressing: 32 bits of hash and key number + 1; 0 is empty.
  std::vector<uint64_t> slots_;
  int64_t used_ = 0;
  PagedArray<Key> keys_;
  std::vector<KeyId> free_keys_;
  std::vector<std::unique_ptr<Slice>> slices_;
  std::vector<uint32_t> free_slices_;
  std::array<std::map<int64_t, uint32_t>, 2> by_time_;  // number of the slice in time -> its place
  std::vector<Ref> removed_;
  std::vector<Ref> found_;
  int64_t live_ = 0;
  int64_t bytes_ = 0;        // of key bytes, and of where rows lie on the local disk
  int64_t batch_bytes_ = 0;  // of batches in memory
  uint64_t next_slice_ = 0;
  // Where rows may spill.
  std::unique_ptr<ColdRecords> cold_;
  std::deque<Warm> warm_;  // oldest first
  size_t gone_ = 0;        // of them, at most
  uint64_t cold_end_ = 0;  // bytes that were handed over
};

}  // namespace strand::state
