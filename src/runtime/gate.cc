#include "runtime/gate.h"

namespace strand::runtime {

using columnar::Batch;
using columnar::Selection;

Gate::Gate(std::string reader, std::vector<flow::Channel*> channels, std::vector<size_t> hash_keys,
           int32_t max_parallelism)
    : reader_(std::move(reader)),
      channels_(std::move(channels)),
      keys_(std::move(hash_keys)),
      max_parallelism_(max_parallelism) {
  STRAND_CHECK(channels_.size() == 1 || !keys_.empty());
  const auto parallelism = static_cast<int32_t>(channels_.size());
  for (int32_t group = 0; group < max_parallelism_; ++group) {
    owners_.push_back(static_cast<uint32_t>(owner_of(group, parallelism, max_parallelism_)));
  }
}

void Gate::push_rows(const Batch& batch, bool held) {
  if (batch.rows() == 0) return;
  if (channels_.size() == 1) {
    channels_[0]->push(flow::Rows{batch, held});
    return;
  }
  columnar::hash_rows(batch, keys_, hashes_);
  std::vector<std::shared_ptr<Selection>> targets(channels_.size());
  for (auto& target : targets) {
    target = std::make_shared<Selection>();
    target->reserve(static_cast<size_t>(batch.rows()) / channels_.size() * 5 / 4 + 8);
  }
  batch.for_each_row([&](int64_t row) {
    const int32_t group = columnar::key_group(hashes_[static_cast<size_t>(row)], max_parallelism_);
    targets[owners_[static_cast<size_t>(group)]]->push_back(static_cast<uint32_t>(row));
  });
  for (size_t i = 0; i < channels_.size(); ++i) {
    if (targets[i]->empty()) continue;
    channels_[i]->push(flow::Rows{batch.with_selection(std::move(targets[i])), held});
  }
}

void Gate::broadcast(const flow::Element& element) {
  if (!forwards_idle_ && std::holds_alternative<flow::StatusChange>(element)) return;
  for (flow::Channel* channel : channels_) channel->push(element);
}

bool Gate::full() {
  bool full = false;
  for (flow::Channel* channel : channels_) full = channel->full() || full;
  return full;
}

}  // namespace strand::runtime
