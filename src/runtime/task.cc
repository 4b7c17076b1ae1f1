#include "runtime/task.h"

#include <algorithm>

namespace strand::runtime {

void write_snapshot(const AttemptContext& context, const Task& task, state::SnapshotBuilder builder) {
  auto shared = std::make_shared<state::SnapshotBuilder>(std::move(builder));
  env::FileSystem* files = context.env.files;
  const auto lane = static_cast<uint64_t>(task.id());
  context.env.executor->submit(lane, [=, mailbox = task.shared_mailbox(), dir = context.snapshot_dir] {
    SnapshotWritten answer{shared->epoch(), Status(), {}};
    auto refs = shared->write(*files, dir);
    if (refs.ok()) {
      answer.refs = *std::move(refs);
    } else {
      answer.status = refs.status();
    }
    mailbox->post(std::move(answer));
  });
}

std::optional<Inputs::Next> Inputs::take(size_t channel) {
  flow::Element* front = channels_[channel]->front();
  if (front == nullptr) return std::nullopt;
  Next next{channel, std::move(*front)};
  channels_[channel]->pop();
  return next;
}

std::optional<Inputs::Next> Inputs::next() {
  for (size_t tried = 0; tried < channels_.size(); ++tried) {
    const size_t channel = turn_++ % channels_.size();
    if (aligner_.blocked(channel) || held_[channel]) continue;
    auto next = take(channel);
    if (!next) continue;
    tried = 0;
    if (const auto* barrier = std::get_if<flow::Barrier>(&next->element)) {
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

}  // namespace strand::runtime
