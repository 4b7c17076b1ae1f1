// A bounded FIFO between two tasks.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "base/ids.h"
#include "flow/element.h"
#include "obs/memory.h"

namespace strand::flow {

/// Elements from one producer task to one consumer task, in order. Bounded in elements and bytes: the
/// producer asks `full` before it starts a unit of work and blocks its task if so; what one unit of work
/// emits is always taken, so an operator call never waits. `push` belongs to the producer's thread, `front`
/// and `pop` to the consumer's.
class Channel {
 public:
  static constexpr size_t kSlots = 64;
  static constexpr int64_t kMaxBytes = 4 << 20;

  explicit Channel(obs::MemoryAccount* memory) : memory_(memory), ring_(kSlots) {}
  ~Channel();
  Channel(const Channel&) = delete;
  Channel& operator=(const Channel&) = delete;

  // Producer.
  void push(Element element);
  /// Moves overflow into the ring as far as it fits; true while the producer should wait.
  bool full();
  void set_consumer_waker(std::function<void()> waker) { wake_consumer_ = std::move(waker); }

  // Consumer.
  /// The next element, or null if there is none.
  Element* front();
  void pop();
  void set_producer_waker(std::function<void()> waker) { wake_producer_ = std::move(waker); }

  int64_t queued_bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    Element element;
    int64_t bytes = 0;
  };
  bool push_ring(Slot& slot);

  obs::MemoryAccount* memory_;
  std::vector<Slot> ring_;
  std::deque<Slot> overflow_;      // producer's
  std::atomic<uint64_t> head_{0};  // next to pop
  std::atomic<uint64_t> tail_{0};  // next to push
  std::atomic<int64_t> bytes_{0};
  std::atomic<bool> producer_waits_{false};
  std::function<void()> wake_consumer_ = [] {};
  std::function<void()> wake_producer_ = [] {};
};

}  // namespace strand::flow
