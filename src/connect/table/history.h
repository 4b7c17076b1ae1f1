// Which values in a store are dead (replay.md, D).
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/shard.h"
#include "flow/sink.h"

namespace strand::connect::table {

/// The restores of a job as one attempt knows them. Immutable.
class RestoreHistory {
 public:
  RestoreHistory() = default;
  /// Records of later attempts than (generation, attempt) are not looked at.
  RestoreHistory(std::vector<AttemptRecord> records, Generation generation, Attempt attempt);

  /// D: a later attempt restored an epoch at or below the tag's, so the value is of a past that has been
  /// undone.
  bool dead(const flow::WriteTag& tag) const;
  /// F1: the lowest epoch restored by this attempt or by one whose second sweep is not done.
  Epoch flush_from() const { return flush_from_; }
  /// F1, E1: the highest epoch that any sink may have seen.
  Epoch flush_to() const { return flush_to_; }

  struct Step {
    Generation generation;
    Attempt attempt;
    Epoch lowest;  // restored by this attempt or a later one
  };
  /// For stores that decide D themselves: a tag is dead if the first step above its (generation, attempt) has
  /// a `lowest` at or below its epoch. In the order of (generation, attempt).
  const std::vector<Step>& steps() const { return steps_; }

 private:
  std::vector<Step> steps_;  // in the order of (generation, attempt)
  Epoch flush_from_{0};
  Epoch flush_to_{0};
};

}  // namespace strand::connect::table
