// The groups of an aggregation over rows that change.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ops/changing_group.h"
#include "ops/group_values.h"
#include "state/logged_rows.h"
#include "state/row_index.h"

namespace strand::ops {

/// Each group is a logged row, which is written again when the group has changed, and the values that it
/// counts are logged rows of their own. So groups in memory are what was read of the log, and is changed
/// there behind each batch.
///
/// With a spill space, groups that were not asked for lately are forgotten in memory when they take more
/// than half of the table's share there, and are read again when a batch asks for them, with their values;
/// but for those of so many values that this would be slow. Memory keeps a slot for each group, and what
/// finds it. Belongs to one operator.
class KeptGroups {
 public:
  using Id = ChangingGroups::Id;
  static constexpr Id kNone = ChangingGroups::kNone;

  /// `results` outlives it.
  KeptGroups(const GroupResults& results, int32_t version)
      : results_(results), logged_("groups", version), values_("values", version) {}

  /// Before the first group; see LoggedRows.
  Status spill_to(state::SpillSpace* space);

  /// The group of a key; where there is none a new one, if `add`, else kNone. Good until `finish`. Errors: of
  /// a read.
  Result<Id> find(uint64_t hash, std::string_view key, bool add);
  ChangingGroup& operator[](Id id) { return groups_[id]; }
  std::string_view key(Id id) const { return groups_.key(id); }
  /// A group that is about to change; true the first time since it was `keep`-ed.
  bool touch(ChangingGroup& group);
  /// Those of the group, until the next call.
  state::ValueCounts& values_of(uint64_t hash, std::string_view key, ChangingGroup& group) {
    values_.at(hash, key, group.first_value);
    return values_;
  }
  /// As if no row had come.
  void begin_anew(Id id);
  /// A group that was touched is as it shall be.
  void keep(Id id);
  /// The group goes, and its values.
  void erase(Id id);
  /// Between rows of a batch. Errors: of a read.
  Status let_go() const;
  /// After a batch. Errors: as of LoggedRows::tidy.
  Status finish();
  /// Forgets the groups that expire by `now`, once they are twice as many as were left last time.
  Status forget(WallTime now);

  /// Calls f(key, group) for all, in the order of their numbers in the log; f gives a Status. Groups that are
  /// not in memory come without their values.
  template <class F>
  Status for_each(F&& f) const;

  void snapshot(state::SnapshotBuilder& out) {
    logged_.snapshot(out);
    values_.snapshot(out);
  }
  void written(Epoch epoch, const std::vector<state::SectionRef>& refs) {
    logged_.written(epoch, refs);
    values_.written(epoch, refs);
  }
  Status restore(const std::vector<state::Section>& sections, const flow::OperatorContext& context);

  int64_t size() const { return logged_.size(); }
  int64_t memory_bytes() const {
    return groups_bytes() + static_cast<int64_t>(by_key_.bytes()) + logged_.memory_bytes() +
           values_.memory_bytes();
  }

 private:
  /// The body: its key and hash, the group without the values that are counted, and until when it is kept.
  struct LoggedGroup {
    struct Head {};
    Head head;
    Id hot = kNone;  // in memory
    GroupValues::Id first_value = GroupValues::kNone;
  };
  using LoggedGroups = state::LoggedRows<LoggedGroup>;
  static constexpr int64_t kForgetFrom = 4096;  // keys from which expired ones are looked for
  static constexpr int64_t kValuesMost = 1024;  // of a group that is not in memory

  int64_t groups_bytes() const { return groups_.memory_bytes() + group_bytes_; }
  /// With the key.
  Status decode(LoggedGroups::Id logged, state::KeyTable::StoredKey& key, ChangingGroup& group) const;
  LoggedGroups::Id find_logged(uint64_t hash, std::string_view key);
  Result<Id> load(LoggedGroups::Id logged);
  void erase_cold(LoggedGroups::Id logged);
  void make_room(int64_t most);

  const GroupResults& results_;
  state::SpillSpace* space_ = nullptr;
  ChangingGroups groups_;
  LoggedGroups logged_;
  GroupValues values_;
  state::RowIndex by_key_;   // where groups may leave memory
  int64_t cold_ = 0;         // logged groups that are not in memory
  int64_t group_bytes_ = 0;  // of groups that are not touched
  int64_t forget_at_ = kForgetFrom;
  std::string key_bytes_;
};

template <class F>
Status KeptGroups::for_each(F&& f) const {
  Status status;
  logged_.for_each([&](LoggedGroups::Id id) {
    if (!status.ok()) return;
    if (const Id hot = logged_[id].hot; hot != kNone) {
      status = f(groups_.key(hot), groups_[hot]);
      return;
    }
    state::KeyTable::StoredKey key{};
    ChangingGroup group;
    status = decode(id, key, group);
    if (status.ok()) status = f(key.key, group);
  });
  return status;
}

}  // namespace strand::ops
