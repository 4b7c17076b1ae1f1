// The keyed state of one operator on the heap: named tables, timers, and the key that is being worked on.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "state/keyed/table.h"
#include "state/keyed/timers.h"

namespace strand::state {

/// A table as saved, which nobody has asked for yet. Immutable.
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
class KeyedState {
 public:
  static constexpr int32_t kVersion = 1;

  explicit KeyedState(KeyGroupRange own) : own_(own) {}
  KeyedState(const KeyedState&) = delete;
  KeyedState& operator=(const KeyedState&) = delete;

  void set_key(int32_t group, std::string_view key) {
    STRAND_CHECK(own_.contains(group));
    group_ = group;
    key_ = key;
  }
  const std::string& key() const { return key_; }
  int32_t group() const { return group_; }
  StateKeyView at(Namespace space) const { return {group_, key_, space}; }

  /// The wall clock, for TTL: set by the operator before it calls a function.
  void set_now(WallTime now) { now_ = now; }
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

  Timers& timers(TimeDomain domain) { return timers_[static_cast<size_t>(domain)]; }
  const Timers& timers(TimeDomain domain) const { return timers_[static_cast<size_t>(domain)]; }

  /// Everything as it is now; copies timers, and nothing else.
  std::shared_ptr<FrozenKeyedState> freeze() const;
  std::string save() const { return freeze()->encode(); }
  Status load(std::string_view bytes);

  /// Values held, over all tables.
  int64_t entries() const;

 private:
  static Result<TypeChange> change_of(const std::string& name, const std::string& saved,
                                      const std::string& wanted);
  static Status other_type(const std::string& name, const std::string& saved, const std::string& wanted);
  Status adopt(const std::string& name, std::unique_ptr<TableBase> table);
  Status load_table(ByteReader& in);

  KeyGroupRange own_;
  int32_t group_ = 0;
  std::string key_;
  WallTime now_;
  std::map<std::string, std::unique_ptr<TableBase>> tables_;
  std::map<std::string, std::shared_ptr<const SavedTable>> not_opened_;
  Timers timers_[2];
};

}  // namespace strand::state
