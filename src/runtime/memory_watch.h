// Whether sources may read while the job is near its memory limit.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>

#include "obs/memory.h"

namespace strand::runtime {

/// Holds the sources back while 90 % of the memory limit is taken, so that what is in flight can drain.
///
/// Where nothing drains, holding on would be for ever: state shrinks as event time passes, and event time
/// passes because sources read. That nothing drains is seen from progress, not from a clock: kProofs
/// checkpoints have completed, so every row in flight has reached its sink and what sinks hold back for a
/// checkpoint is out, no source has read, and no memory came back. Then sources read on; beyond the limit
/// itself the job ends.
///
/// `look` belongs to the master; the rest may be called from any thread. A crash forgets it.
class MemoryWatch {
 public:
  /// The first may have been under way already; what the second commits is out when the third completes.
  static constexpr int64_t kProofs = 3;
  enum class Verdict : uint8_t {
    kNothing,
    kProve,   // sources are held: a checkpoint would tell whether anything drains
    kReadOn,  // nothing does; said once
  };

  explicit MemoryWatch(const obs::MemoryAccount& account) : account_(account) {}

  bool holds_sources() const { return account_.pressed() && !reading_on_.load(std::memory_order_relaxed); }
  void count_read() { reads_.fetch_add(1, std::memory_order_relaxed); }

  /// `completed`: checkpoints of this attempt.
  Verdict look(int64_t completed) {
    if (!account_.pressed()) {
      held_.reset();
      reading_on_ = false;
      return Verdict::kNothing;
    }
    if (reading_on_) return Verdict::kNothing;
    const Held now{completed, reads_, account_.used()};
    const bool moved =
        held_ && (now.reads != held_->reads || held_->used - now.used > account_.limit() / 100);
    if (!held_ || moved) held_ = now;
    if (completed - held_->completed < kProofs) return Verdict::kProve;
    reading_on_ = true;
    return Verdict::kReadOn;
  }

 private:
  struct Held {
    int64_t completed;
    int64_t reads;
    int64_t used;
  };
  const obs::MemoryAccount& account_;
  std::atomic<int64_t> reads_{0};
  std::atomic<bool> reading_on_{false};
  std::optional<Held> held_;  // since when nothing has moved
};

}  // namespace strand::runtime
