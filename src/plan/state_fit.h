// Whether the state of a snapshot fits a plan, operator by operator. Restores and `upgrade-check` go by this.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/status.h"

namespace strand::plan {

/// What becomes of the state of one operator when a plan goes on from a snapshot.
struct OperatorFit {
  enum class Fate : uint8_t {
    kKept,
    kNew,      // the snapshot knows nothing of it: it starts empty
    kDropped,  // the plan has it no longer, and its state may be dropped
    kGone,     // the plan has it no longer: refused
    kChanged,  // its state has another form: refused
  };
  std::string id;
  std::string kind;  // kind_name
  Fate fate = Fate::kKept;
  /// Of what is refused: what differs, one or more.
  std::vector<std::string> differences = {};

  bool refused() const { return fate == Fate::kGone || fate == Fate::kChanged; }
  /// A source or a sink: without state of its own it begins anew, and loses nothing.
  bool is_end() const { return kind == "scan" || kind == "sink"; }
};

/// Compares two fingerprints. Those of the snapshot come first, then what is new, each by id. Operators of
/// the snapshot that are in `may_drop` may be missing in the plan. Errors: kStateMismatch for a fingerprint
/// that cannot be read.
Result<std::vector<OperatorFit>> fit_state(const std::string& snapshot, const std::string& plan,
                                           const std::set<std::string>& may_drop);

}  // namespace strand::plan
