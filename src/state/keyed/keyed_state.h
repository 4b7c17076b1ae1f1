// The keyed state of one operator: named tables, timers, and the key that is being worked on.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "state/keyed/cold_state.h"
#include "state/keyed/table.h"
#include "state/keyed/timers.h"

namespace strand::state {

/// What was in memory, and the timers.
inline constexpr const char* kKeyedSection = "keyed";

/// When the snapshot was taken, for values that snapshots leave out: those handed over are looked at when
/// they are read.
inline constexpr const char* kKeyedClockSection = "keyed-clock";

/// A table as saved, which nobody has asked for yet. Does not change while a snapshot holds it.
struct SavedTable {
  std::string type;
  std::vector<RawEntry> entries;
};

/// Keyed state as it was at a freeze: what a snapshot writes, on another thread than the task's.
struct FrozenKeyedState {
  struct Head {
    std::string name;
    std::string type;
  };
  std::vector<std::pair<Head, std::unique_ptr<FrozenTable>>> tables;
  std::vector<std::pair<std::string, std::shared_ptr<const SavedTable>>> not_opened;
  std::array<std::vector<Timer>, 2> timers;
  /// Once.
  std::string encode();
};

/// Holds whatever C++ functions keep by key. Every access is for the current key and, where windows are
/// concerned, a namespace of it. Belongs to one task.
///
/// A snapshot is frozen at the barrier and encoded behind the task (docs/adr/0011-frozen-pages.md); `save`
/// does both. `load` takes the groups that this subtask owns now, so a rescale is loading the parts of all
/// old subtasks that overlap. A table that nobody has asked for yet is kept as saved: functions may open
/// their states late, and a state that is no longer used is not lost. Values of another type are carried over
/// where nothing is lost by that (base/stored_type.h), else refused.
///
/// With `spill_to`, values that have no room in memory are in a ColdState; timers stay. Snapshots of both
/// kinds of state are read by both: what was handed over is in sections of a RowSpill, and the section of
/// what was in memory wins over them.
class KeyedState {
 public:
  /// Before version 2 there were no values without a byte.
  static constexpr int32_t kVersion = 2;

  explicit KeyedState(KeyGroupRange own) : own_(own) {}
  KeyedState(const KeyedState&) = delete;
  KeyedState& operator=(const KeyedState&) = delete;

  void set_key(int32_t group, std::string_view key) {
    STRAND_CHECK(own_.contains(group));
    group_ = group;
    key_ = key;
    ++keys_set_;
  }
  const std::string& key() const { return key_; }
  int32_t group() const { return group_; }
  StateKeyView at(Namespace space) const { return {group_, key_, space}; }

  /// The wall clock, for TTL: set by the operator before it calls a function.
  void set_now(WallTime now) {
    now_ = now;
    if (cold_ != nullptr) cold_->set_now(now);
  }
  WallTime now() const { return now_; }

  /// The table `name`, made at its first use; `type` says what its values are, where V alone does not.
  /// Errors: kStateMismatch if it exists or was saved with another type.
  template <class V>
  Result<Table<V>*> table(const std::string& name, const std::string& type = Codec<V>::name()) {
    const auto found = tables_.find(name);
    if (found != tables_.end()) {
      auto* table = dynamic_cast<Table<V>*>(found->second.get());
      if (table == nullptr || table->type() != type) return other_type(name, found->second->type(), type);
      return table;
    }
    auto made = std::make_unique<Table<V>>(type);
    Table<V>* table = made.get();
    STRAND_OK(adopt(name, std::move(made)));
    return table;
  }

  /// Before any state is opened: values without room in memory go there.
  void spill_to(SpillSpace& space) { cold_ = std::make_unique<ColdState>(space, own_); }
  bool spills() const { return cold_ != nullptr; }
  /// The values of these keys will be asked for: those that are elsewhere come back together.
  Status bring_back(std::span<const StateKeyView> keys) {
    return cold_ != nullptr ? cold_->bring_back(keys) : Status();
  }
  /// Between two batches. Nobody holds a value of a table. Some values that have expired go, so that what
  /// nobody asks for any more goes in the end: more are looked at than can have come since the last call.
  Status make_room() {
    sweep();
    return cold_ != nullptr ? cold_->make_room() : Status();
  }
  /// What went wrong in a call of a table since the state was made.
  Status failed() const { return cold_ != nullptr ? cold_->failed() : Status(); }

  /// Calls f(key) for the keys of a table, in order; f may change state. Values come back some at a time.
  template <class V, class F>
  void for_each_key(Table<V>& table, F&& f);

  Timers& timers(TimeDomain domain) { return timers_[static_cast<size_t>(domain)]; }
  const Timers& timers(TimeDomain domain) const { return timers_[static_cast<size_t>(domain)]; }

  /// Everything as it is now; copies timers, and nothing else.
  std::shared_ptr<FrozenKeyedState> freeze() const;
  std::string save() const { return freeze()->encode(); }
  Status load(std::string_view bytes) { return load(bytes, own_); }
  /// The same as sections.
  Status snapshot(SnapshotBuilder& out);
  void written(Epoch epoch, const std::vector<SectionRef>& refs) {
    if (cold_ != nullptr) cold_->written(epoch, refs);
  }
  Status restore(const std::vector<Section>& sections);

  /// Values held, over all tables.
  int64_t entries() const;
  int64_t bytes() const;

 private:
  /// Values of these groups were saved as another type.
  struct PartChange {
    KeyGroupRange groups;
    TypeChange change;
  };
  static constexpr int64_t kEntryBytes = 128;  // of an entry and of a timer, about
  static constexpr int64_t kSwept = 4;         // entries and buckets for each key that was worked on
  static constexpr size_t kVisited = 256;      // keys whose values come back at once
  void sweep();
  static Result<TypeChange> change_of(const std::string& name, const std::string& saved,
                                      const std::string& wanted);
  static Status other_type(const std::string& name, const std::string& saved, const std::string& wanted);
  Status adopt(const std::string& name, std::unique_ptr<TableBase> table);
  /// A part of a snapshot, with what these groups have.
  Status load(std::string_view bytes, KeyGroupRange groups);
  Status load_table(ByteReader& in, KeyGroupRange groups);
  Status load_type(const std::string& name, const std::string& type, KeyGroupRange groups);
  /// Of a value that is being loaded; null: it has the type of its table.
  const TypeChange* change_at(const std::string& name, int32_t group) const;
  Status load_entries(ByteReader& in, const std::string& name);
  Status load_cold(ByteReader& in, const std::string& name);
  Status load_handed_over(const std::vector<Section>& sections, const ColdState::ClockOf& saved_at);
  Status visit(const std::string& name, const std::function<void(const StateKey&)>& f);

  KeyGroupRange own_;
  int32_t group_ = 0;
  std::string key_;
  WallTime now_;
  int64_t keys_set_ = 0;  // since the last sweep
  std::map<std::string, std::unique_ptr<TableBase>> tables_;
  std::map<std::string, std::shared_ptr<SavedTable>> not_opened_;
  std::map<std::string, std::vector<PartChange>> changes_;  // of open tables, while parts are loaded
  std::map<std::string, std::vector<StateKey>> gone_;       // in spite of older values, while they are loaded
  Timers timers_[2];
  std::unique_ptr<ColdState> cold_;  // null: everything is in memory
};

template <class V, class F>
void KeyedState::for_each_key(Table<V>& table, F&& f) {
  if (cold_ == nullptr) {
    for (const StateKey& key : table.keys()) f(key);
    return;
  }
  for (const auto& [name, each] : tables_) {
    if (each.get() != &table) continue;
    if (Status status = visit(name, f); !status.ok()) cold_->fail(std::move(status));
    return;
  }
}

}  // namespace strand::state
