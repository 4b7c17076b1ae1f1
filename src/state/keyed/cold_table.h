// The values of one named state that are not in memory.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/status.h"
#include "state/keyed/cold_expiry.h"
#include "state/keyed/state_key.h"

namespace strand::state {

class ColdState;
class TableBase;

/// What a table knows of its values in the store of its ColdState, and what it has done since the last
/// hand-over that the store does not know. Belongs to the ColdState.
class ColdTable {
 public:
  using Keys = std::unordered_set<StateKey, StateKeyHash, StateKeyEqual>;

  ColdTable(ColdState& home, std::string name) : home_(home), name_(std::move(name)) {}
  ColdTable(const ColdTable&) = delete;
  ColdTable& operator=(const ColdTable&) = delete;

  const std::string& name() const { return name_; }  // cold_name
  /// Values that are in the store and not in memory, at most: the store may have forgotten some.
  int64_t values() const { return values_; }
  /// Whether the store may have a value of a key that the table has not.
  bool may_have(const StateKeyView& key) const {
    return values_ > 0 && absent_.find(key) == absent_.end() && gone_.find(key) == gone_.end();
  }
  /// Whether the store has had values: an old one may be there of any key that the table has or gives up.
  bool stored() const { return stored_; }
  /// Brings the value of a key back. False if there is none, or an error that the ColdState keeps.
  bool fetch(const StateKeyView& key);
  /// The table has given up the value of a key.
  void erased(const StateKeyView& key) {
    if (stored_) gone_.emplace(key.group, std::string(key.key), key.space);
  }
  /// From now on the store may forget values that have expired.
  void expires(Expiry expiry);
  /// The table has so many bytes more.
  void grow(int64_t bytes) { bytes_ += bytes; }

 private:
  friend class ColdState;
  ColdState& home_;
  std::string name_;
  TableBase* table_ = nullptr;  // null: nobody has opened it yet
  int64_t values_ = 0;
  int64_t bytes_ = 0;    // of the table in memory
  bool stored_ = false;  // the store has had values
  bool plain_ = false;   // some without a namespace
  bool spaced_ = false;  // some with one
  Keys absent_;          // asked for in this batch and not there
  Keys gone_;            // given up: the store may have an old value
};

}  // namespace strand::state
