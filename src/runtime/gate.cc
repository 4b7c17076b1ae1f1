#include "runtime/gate.h"

namespace strand::runtime {

using columnar::Batch;
using columnar::Selection;

KeySpread::KeySpread(std::vector<size_t> keys, bool groups, int32_t parallelism, int32_t max_parallelism)
    : keys_(std::move(keys)),
      groups_(groups),
      max_parallelism_(max_parallelism),
      targets_(static_cast<size_t>(parallelism)) {
  for (int32_t group = 0; group < max_parallelism_; ++group)
    owners_.push_back(static_cast<uint32_t>(owner_of(group, parallelism, max_parallelism_)));
}

const std::vector<columnar::SelectionPtr>& KeySpread::spread(const Batch& batch) {
  const int32_t* groups = nullptr;
  if (groups_) {
    groups = batch.column(keys_[0]).values<int32_t>();
  } else {
    columnar::hash_rows(batch, keys_, hashes_);
  }
  std::vector<std::shared_ptr<Selection>> targets(targets_.size());
  ends_.resize(targets.size());
  for (size_t i = 0; i < targets.size(); ++i) {
    targets[i] = std::make_shared<Selection>(static_cast<size_t>(batch.rows()));
    ends_[i] = targets[i]->data();
  }
  batch.for_each_row([&](int64_t row) {
    const int32_t group = groups != nullptr
                              ? groups[row]
                              : columnar::key_group(hashes_[static_cast<size_t>(row)], max_parallelism_);
    *ends_[owners_[static_cast<size_t>(group)]]++ = static_cast<uint32_t>(row);
  });
  for (size_t i = 0; i < targets.size(); ++i) {
    const auto rows = static_cast<size_t>(ends_[i] - targets[i]->data());
    targets[i]->resize(rows);
    targets_[i] = rows == 0 ? nullptr : std::move(targets[i]);
  }
  return targets_;
}

Gate::Gate(std::string reader, std::vector<flow::Channel*> channels, std::vector<size_t> keys,
           int32_t max_parallelism, Spread spread)
    : reader_(std::move(reader)),
      channels_(std::move(channels)),
      by_key_(std::move(keys), spread == Spread::kGroup, static_cast<int32_t>(channels_.size()),
              max_parallelism),
      spread_(spread) {
  STRAND_CHECK(channels_.size() == 1 || spread_ == Spread::kAll || by_key_.has_keys());
}

void Gate::push_rows(const Batch& batch, bool held) {
  if (batch.rows() == 0) return;
  if (channels_.size() == 1) {
    channels_[0]->push(flow::Rows{batch, held});
    return;
  }
  if (spread_ == Spread::kAll) {
    for (flow::Channel* channel : channels_) channel->push(flow::Rows{batch, held});
    return;
  }
  const std::vector<columnar::SelectionPtr>& targets = by_key_.spread(batch);
  for (size_t i = 0; i < channels_.size(); ++i) {
    if (targets[i] != nullptr) channels_[i]->push(flow::Rows{batch.with_selection(targets[i]), held});
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
