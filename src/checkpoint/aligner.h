// Which inputs of a task must wait for a barrier: a pure state machine.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/check.h"
#include "base/ids.h"

namespace strand::checkpoint {

/// Aligned barriers of a task with several input channels: from the first barrier of an epoch until the last,
/// channels that have delivered theirs are held back, so that the snapshot holds exactly what lies before the
/// barriers. Barriers of an aborted epoch are overtaken
/// by those of a later one: alignment then starts over for the later. Barriers of an epoch that is over here
/// are ignored. Belongs to its task. A crash forgets it: barriers under way die with the attempt.
class Aligner {
 public:
  /// `hold_back` false: nothing is held back, and what lies behind the first barriers is in the snapshot,
  /// too. It comes again after a restore (at least once).
  explicit Aligner(size_t channels, bool hold_back = true);

  enum class Outcome : uint8_t { kWait, kAligned };
  /// A barrier has arrived on `channel`, which must not be blocked.
  Outcome on_barrier(size_t channel, Epoch epoch);
  bool blocked(size_t channel) const { return hold_back_ && arrived_[channel]; }
  /// Its barrier of the epoch being aligned has arrived.
  bool arrived(size_t channel) const { return arrived_[channel]; }
  /// Barriers of the epoch are ignored.
  bool over(Epoch epoch) const { return epoch <= over_; }
  /// The epoch being aligned.
  std::optional<Epoch> aligning() const { return aligning_; }
  /// The coordinator has given the epoch up, or its barrier has overtaken (runtime/inputs.h): channels held
  /// back for it flow again, and what still comes of it is ignored.
  void on_abort(Epoch epoch);
  /// The task has taken its snapshot: all channels flow again.
  void release();

 private:
  bool hold_back_;
  std::vector<bool> arrived_;  // its barrier of the epoch being aligned
  std::optional<Epoch> aligning_;
  Epoch over_{0};  // this epoch and all before are over here
};

}  // namespace strand::checkpoint
