#include "checkpoint/aligner.h"

#include <algorithm>

namespace strand::checkpoint {

Aligner::Aligner(size_t channels) : blocked_(channels, false), ended_(channels, false) {
  STRAND_CHECK(channels > 0);
}

Aligner::Outcome Aligner::on_barrier(size_t channel, Epoch epoch) {
  STRAND_CHECK(channel < blocked_.size() && !blocked_[channel] && !ended_[channel]);
  if (epoch <= over_ || (aligning_ && epoch < *aligning_)) return Outcome::kWait;
  if (aligning_ && epoch > *aligning_) release();
  aligning_ = epoch;
  blocked_[channel] = true;
  return check();
}

Aligner::Outcome Aligner::on_end(size_t channel) {
  STRAND_CHECK(channel < blocked_.size() && !blocked_[channel] && !ended_[channel]);
  ended_[channel] = true;
  return check();
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

Aligner::Outcome Aligner::check() {
  if (!aligning_) return Outcome::kWait;
  for (size_t i = 0; i < blocked_.size(); ++i) {
    if (!blocked_[i] && !ended_[i]) return Outcome::kWait;
  }
  return Outcome::kAligned;
}

}  // namespace strand::checkpoint
