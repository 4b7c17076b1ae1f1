#include "checkpoint/aligner.h"

#include <algorithm>

namespace strand::checkpoint {

Aligner::Aligner(size_t channels) : blocked_(channels, false) { STRAND_CHECK(channels > 0); }

Aligner::Outcome Aligner::on_barrier(size_t channel, Epoch epoch) {
  STRAND_CHECK(channel < blocked_.size() && !blocked_[channel]);
  if (epoch <= over_ || (aligning_ && epoch < *aligning_)) return Outcome::kWait;
  if (aligning_ && epoch > *aligning_) release();
  aligning_ = epoch;
  blocked_[channel] = true;
  const bool all = std::find(blocked_.begin(), blocked_.end(), false) == blocked_.end();
  return all ? Outcome::kAligned : Outcome::kWait;
}

void Aligner::on_abort(Epoch epoch) {
  if (aligning_ && *aligning_ <= epoch) release();
  over_ = std::max(over_, epoch);
}

void Aligner::release() {
  if (!aligning_) return;
  over_ = std::max(over_, *aligning_);
  aligning_.reset();
  std::fill(blocked_.begin(), blocked_.end(), false);
}

}  // namespace strand::checkpoint
