#include "checkpoint/aligner.h"

#include <algorithm>

namespace strand::checkpoint {

Aligner::Aligner(size_t channels, bool hold_back) : hold_back_(hold_back), arrived_(channels, false) {
  STRAND_CHECK(channels > 0);
}

Aligner::Outcome Aligner::on_barrier(size_t channel, Epoch epoch) {
  STRAND_CHECK(channel < arrived_.size() && !blocked(channel));
  if (epoch <= over_ || (aligning_ && epoch < *aligning_)) return Outcome::kWait;
  if (aligning_ && epoch > *aligning_) release();
  aligning_ = epoch;
  arrived_[channel] = true;
  const bool all = std::find(arrived_.begin(), arrived_.end(), false) == arrived_.end();
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
  std::fill(arrived_.begin(), arrived_.end(), false);
}

}  // namespace strand::checkpoint
