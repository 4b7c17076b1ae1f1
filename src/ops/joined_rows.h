// The rows of one side of a regular join.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "state/logged_rows.h"
#include "state/row_index.h"

namespace strand::ops {

/// Rows by their bytes (KeyedRowBytes), listed by join key in the order in which they came. Equal rows are
/// counted, but where few of the first rows were equal and none is ever taken back: then a row is only
/// compared with the last one of its key, which costs no look into a large table. Belongs to one operator.
class JoinedRows {
 public:
  struct Row {
    struct Head {
      int64_t written = 0;   // wall clock, milliseconds
      int32_t count = 0;     // how often it is there
      int32_t partners = 0;  // of an outer side
    };
    Head head;
    uint32_t next = kNone;  // of the same key; behind the last one comes the first
    uint32_t previous = kNone;
  };
  using Id = uint32_t;
  static constexpr Id kNone = ~Id{0};
  struct Key {
    uint64_t hash;
    std::string_view bytes;
  };

  JoinedRows(std::string name, int32_t version) : rows_(std::move(name), version) {}

  /// One more of the row, which has so many partners.
  void add(const Key& key, std::string_view row, int64_t partners, WallTime now);
  /// One less; false where there is none.
  bool remove(std::string_view row);
  /// Appends the rows with that key, in the order in which they came.
  void partners_of(const Key& key, std::vector<Id>& out) const;
  const Row& row(Id id) const { return rows_[id]; }
  /// Good until `let_go` and `tidy`.
  std::string_view bytes(Id id) const { return rows_.body(id); }
  void add_partners(Id id, int32_t by, WallTime now);

  /// Forgets rows that were written at or before `until`; returns how many (counted as often as they were
  /// there). No bytes are looked at any more: it tidies on its way, so that memory holds few of those that it
  /// reads from the local disk. Errors: as of `tidy`.
  Result<int64_t> forget(WallTime until);
  /// When the oldest row was written; never() if there is none.
  WallTime oldest();
  /// Asked for before the first row: `forget` and `oldest` are used.
  void keep_order() { ordered_ = true; }
  /// Before the first row; see LoggedRows.
  Status spill_to(state::SpillSpace* space) { return rows_.spill_to(space); }
  /// Between rows of a batch: bytes are not looked at any more. Error: that of LoggedRows::intact, behind
  /// which the lists of keys may be wrong.
  Status let_go() const {
    rows_.let_go();
    return rows_.intact();
  }
  /// After a batch.
  Status tidy() { return rows_.tidy(beside()); }
  /// Asks for the memory that a look for a key will read, in three steps.
  enum class Near : uint8_t { kSlot, kRow, kBytes };
  void prefetch(Near near, uint64_t key_hash) const;

  int64_t count() const { return count_; }
  int64_t memory_bytes() const { return rows_.memory_bytes() + beside(); }

  void snapshot(state::SnapshotBuilder& out) { rows_.snapshot(out); }
  void written(Epoch epoch, const std::vector<state::SectionRef>& refs) { rows_.written(epoch, refs); }
  /// Whose rows a restore takes, and the bytes of the key of a row.
  struct Owner {
    KeyGroupRange groups;
    std::function<bool(uint64_t hash)> mine;
    std::function<std::string_view(std::string_view row)> key_of;
  };
  Status restore(const std::vector<state::Section>& sections, const Owner& owner);

 private:
  static constexpr int64_t kJudged = 16'384;       // rows after which it is decided
  static constexpr int64_t kForgottenMost = 1024;  // before they are tidied away
  struct Write {
    int64_t at;
    Id id;
  };
  int64_t beside() const {
    return static_cast<int64_t>(keys_.bytes() + by_bytes_.bytes() + writes_.size() * sizeof(Write));
  }
  void put(Id id, const Key& key, Id head);
  Id find(std::string_view row) const;
  void erase(Id id);
  Id first(const Key& key) const;
  void note(Id id);
  bool is_newest(const Write& write) const;

  state::LoggedRows<Row> rows_;
  state::RowIndex keys_;      // the first row of each
  state::RowIndex by_bytes_;  // by the hash of a row's bytes, where that is kept
  bool indexed_ = true;
  bool removes_ = false;      // a row was taken back
  int64_t equal_ = 0;         // rows that were there already
  std::deque<Write> writes_;  // in order of time; some are out of date
  bool ordered_ = false;
  int64_t count_ = 0;
};

}  // namespace strand::ops
