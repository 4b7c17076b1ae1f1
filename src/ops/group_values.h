// The values that aggregates keep, for all groups of an operator.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "ops/operators.h"
#include "state/logged_rows.h"
#include "state/row_index.h"
#include "state/value_counts.h"

namespace strand::ops {

/// Each value of an aggregate of a group is a logged row with its count, so that a checkpoint writes the
/// values that came, went or were counted since the last one. Belongs to one operator.
class GroupValues : public state::ValueCounts {
 public:
  using Id = uint32_t;
  static constexpr Id kNone = ~Id{0};

  GroupValues(std::string name, int32_t version) : rows_(std::move(name), version) {}

  /// The group at hand; `first` is its first value or kNone, kept by the owner.
  void at(uint64_t hash, std::string_view key, Id& first);
  int64_t add(size_t aggregate, std::string_view value, int64_t by) override;
  bool put(size_t aggregate, std::string_view value) override;
  void clear() override;

  struct Restored {
    uint64_t hash;
    std::string_view key;
    size_t aggregate;
    std::string_view value;
    int64_t count;
  };
  /// Calls f(value) for each of the group whose first value that is; f gives a Status. Errors: of a read.
  template <class F>
  Status each_of(Id first, F&& f) const {
    for (Id id = first; id != kNone; id = rows_[id].next) {
      const Restored value = restored(id);
      STRAND_OK(rows_.intact());
      STRAND_OK(f(value));
      rows_.let_go();
    }
    return Status();
  }
  /// Calls f(value) for each; f returns the first value of its group, which `at` would be told.
  template <class Mine, class F>
  Status restore(const std::vector<state::Section>& sections, KeyGroupRange groups, Mine&& mine, F&& f) {
    STRAND_OK(rows_.restore(sections, groups, mine));
    rows_.for_each([&](Id id) {
      by_bytes_.add(hash64(rows_.body(id)), id);
      if (!rows_.intact().ok()) return;
      link(id, f(restored(id)));
    });
    return rows_.intact();
  }
  void snapshot(state::SnapshotBuilder& out) { rows_.snapshot(out); }
  void written(Epoch epoch, const std::vector<state::SectionRef>& refs) { rows_.written(epoch, refs); }
  /// Before the first value; see LoggedRows.
  Status spill_to(state::SpillSpace* space) { return rows_.spill_to(space); }
  /// Between rows of a batch.
  void let_go() const { rows_.let_go(); }
  Status intact() const { return rows_.intact(); }
  /// After a batch.
  Status tidy() { return rows_.tidy(static_cast<int64_t>(by_bytes_.bytes())); }
  int64_t memory_bytes() const { return rows_.memory_bytes() + static_cast<int64_t>(by_bytes_.bytes()); }

 private:
  struct Value {
    struct Head {
      int64_t count = 0;
    };
    Head head;
    Id next = kNone;  // of its group
    Id previous = kNone;
  };
  Restored restored(Id id) const;
  /// Whether there is such a value of the group at hand; bytes_ and `hash` are its then.
  Id find(size_t aggregate, std::string_view value, uint64_t& hash);
  void insert(uint64_t hash, int64_t count);
  void link(Id id, Id& first);
  void erase(Id id);

  state::LoggedRows<Value> rows_;
  state::RowIndex by_bytes_;
  uint64_t hash_ = 0;
  Id* first_ = nullptr;
  std::string bytes_;     // of a row: the key behind its length, the aggregate, the value
  size_t key_bytes_ = 0;  // of the group at hand, in front
};

}  // namespace strand::ops
