#include "runtime/inputs.h"

namespace strand::runtime {

std::optional<Inputs::Next> Inputs::take(size_t channel) {
  flow::Element* front = channels_[channel]->front();
  if (front == nullptr) return std::nullopt;
  Next next{channel, std::move(*front)};
  channels_[channel]->pop();
  if (recording_ && !recording_->complete[channel]) {
    if (const auto* rows = std::get_if<flow::Rows>(&next.element))
      recording_->rows[channel].push_back(rows->batch);
    const auto* barrier = std::get_if<flow::Barrier>(&next.element);
    if (barrier != nullptr && barrier->epoch == recording_->epoch) recording_->complete[channel] = true;
  }
  return next;
}

std::optional<Inputs::Next> Inputs::next() {
  for (size_t tried = 0; tried < channels_.size();) {
    const size_t channel = turn_++ % channels_.size();
    ++tried;
    if (aligner_.blocked(channel) || held_[channel]) continue;
    auto next = take(channel);
    if (!next) continue;
    tried = 0;
    if (const auto* barrier = std::get_if<flow::Barrier>(&next->element)) {
      if (barrier->epoch > aligned_.epoch) aligned_ = *barrier;
      if (aligner_.on_barrier(channel, barrier->epoch) == checkpoint::Aligner::Outcome::kWait) continue;
      return next;
    }
    if (std::holds_alternative<flow::HeldEnd>(next->element)) {
      held_[channel] = !held_over_;
      if (std::find(held_.begin(), held_.end(), false) != held_.end()) continue;
      held_over_ = true;
      std::fill(held_.begin(), held_.end(), false);
      return next;
    }
    return next;
  }
  return std::nullopt;
}

void Inputs::abort(Epoch epoch) {
  aligner_.on_abort(epoch);
  if (recording_ && recording_->epoch <= epoch) recording_.reset();
}

/// The barrier that may overtake first, of those that have been read or announced and are not over.
std::optional<flow::Barrier> Inputs::first_barrier() const {
  std::optional<flow::Barrier> first;
  if (!overtakable_ || !held_over_) return first;
  if (aligner_.aligning() == aligned_.epoch) first = aligned_;
  for (flow::Channel* channel : channels_) {
    const auto announced = channel->announced();
    if (!announced || aligner_.over(announced->epoch)) continue;
    if (!first || announced->overtakes < first->overtakes) first = announced;
  }
  return first;
}

WallTime Inputs::overtakes_at() const {
  const auto first = first_barrier();
  return first ? first->overtakes : WallTime::never();
}

std::optional<flow::Barrier> Inputs::overtaking(WallTime now) {
  const auto barrier = first_barrier();
  if (!barrier || barrier->overtakes > now) return std::nullopt;
  recording_ = Recording{barrier->epoch, {}, std::vector<std::vector<columnar::Batch>>(channels_.size())};
  for (size_t channel = 0; channel < channels_.size(); ++channel)
    recording_->complete.push_back(aligner_.aligning() == barrier->epoch && aligner_.arrived(channel));
  aligner_.on_abort(barrier->epoch);  // what is behind the barriers flows, and they are not waited for
  return barrier;
}

void Inputs::record_overtaken(size_t channel) {
  const auto announced = channels_[channel]->announced();
  if (!announced || announced->epoch != recording_->epoch) return;
  for (columnar::Batch& rows : channels_[channel]->overtaken())
    recording_->rows[channel].push_back(std::move(rows));
  recording_->complete[channel] = true;
}

bool Inputs::recording() {
  if (!recording_) return false;
  for (size_t channel = 0; channel < channels_.size(); ++channel) {
    if (!recording_->complete[channel]) record_overtaken(channel);
  }
  return std::ranges::find(recording_->complete, false) != recording_->complete.end();
}

std::vector<std::vector<columnar::Batch>> Inputs::take_recorded() {
  if (!recording_) return std::vector<std::vector<columnar::Batch>>(channels_.size());
  auto rows = std::move(recording_->rows);
  recording_.reset();
  return rows;
}

}  // namespace strand::runtime
