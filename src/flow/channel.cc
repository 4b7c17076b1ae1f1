#include "flow/channel.h"

namespace strand::flow {

namespace {
int64_t bytes_of(const Element& element) {
  const auto* rows = std::get_if<Rows>(&element);
  return rows == nullptr ? 64 : 64 + rows->batch.memory_bytes();
}
}  // namespace

Channel::~Channel() {
  if (memory_ != nullptr) memory_->charge(-bytes_.load());
}

bool Channel::push_ring(Slot& slot) {
  const uint64_t tail = tail_.load(std::memory_order_relaxed);
  if (tail - head_.load(std::memory_order_acquire) == kSlots) return false;
  ring_[tail % kSlots] = std::move(slot);
  tail_.store(tail + 1, std::memory_order_seq_cst);
  return true;
}

void Channel::push(Element element) {
  Slot slot{std::move(element), 0};
  slot.bytes = bytes_of(slot.element);
  bytes_.fetch_add(slot.bytes, std::memory_order_relaxed);
  if (memory_ != nullptr) memory_->charge(slot.bytes);
  const auto* pushed = std::get_if<Barrier>(&slot.element);
  const std::optional<Barrier> announced =
      pushed != nullptr && pushed->overtakes < WallTime::never() ? std::optional(*pushed) : std::nullopt;
  if (!overflow_.empty() || !push_ring(slot)) {
    const std::lock_guard lock(side_);
    overflow_.push_back(std::move(slot));
  }
  if (announced) {
    const std::lock_guard lock(side_);
    barrier_ = *announced;
    barrier_at_ = tail_.load(std::memory_order_relaxed) + overflow_.size() - 1;
    announced_.store(true, std::memory_order_release);
  }
  wake_consumer_();
}

bool Channel::drain_overflow() {
  if (overflow_.empty()) return false;
  const std::lock_guard lock(side_);
  bool moved = false;
  while (!overflow_.empty() && push_ring(overflow_.front())) {
    overflow_.pop_front();
    moved = true;
  }
  return moved;
}

bool Channel::full() {
  if (drain_overflow()) wake_consumer_();
  const auto waits = [&] {
    return !overflow_.empty() || bytes_.load(std::memory_order_relaxed) > kMaxBytes ||
           tail_.load(std::memory_order_relaxed) - head_.load(std::memory_order_acquire) > kSlots * 3 / 4;
  };
  if (!waits()) return false;
  producer_waits_.store(true, std::memory_order_seq_cst);
  return waits();  // again: the consumer may have popped between the look and the flag
}

Element* Channel::front() {
  const uint64_t head = head_.load(std::memory_order_relaxed);
  if (head == tail_.load(std::memory_order_acquire)) return nullptr;
  return &ring_[head % kSlots].element;
}

void Channel::pop() {
  const uint64_t head = head_.load(std::memory_order_relaxed);
  Slot& slot = ring_[head % kSlots];
  const int64_t bytes = slot.bytes;
  slot.element = HeldEnd{};
  bytes_.fetch_sub(bytes, std::memory_order_relaxed);
  if (memory_ != nullptr) memory_->charge(-bytes);
  head_.store(head + 1, std::memory_order_seq_cst);
  if (producer_waits_.load(std::memory_order_seq_cst)) {
    const bool low = tail_.load(std::memory_order_relaxed) - head - 1 <= kSlots / 2 &&
                     bytes_.load(std::memory_order_relaxed) <= kMaxBytes / 2;
    if (low && producer_waits_.exchange(false)) wake_producer_();
  }
}

std::optional<Barrier> Channel::announced() {
  if (!announced_.load(std::memory_order_acquire)) return std::nullopt;
  const std::lock_guard lock(side_);
  if (barrier_at_ >= head_.load(std::memory_order_relaxed)) return barrier_;
  announced_.store(false, std::memory_order_relaxed);
  return std::nullopt;
}

std::vector<Batch> Channel::overtaken() {
  const std::lock_guard lock(side_);
  std::vector<Batch> rows;
  const uint64_t tail = tail_.load(std::memory_order_acquire);
  for (uint64_t at = head_.load(std::memory_order_relaxed); at < barrier_at_; ++at) {
    const Slot& slot = at < tail ? ring_[at % kSlots] : overflow_[static_cast<size_t>(at - tail)];
    const auto* found = std::get_if<Rows>(&slot.element);
    if (found != nullptr && !found->held) rows.push_back(found->batch);
  }
  return rows;
}

}  // namespace strand::flow
