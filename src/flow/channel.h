// A bounded FIFO between two tasks.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
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
///
/// A barrier that may overtake is announced when it is pushed: the consumer can ask for it, and for the rows
/// in front of it, before it has come to it.
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
  /// The newest barrier that may overtake and has not been popped.
  std::optional<Barrier> announced();
  /// The rows in front of it, without those that are held; they stay in the queue.
  std::vector<Batch> overtaken();
  void set_producer_waker(std::function<void()> waker) { wake_producer_ = std::move(waker); }

  int64_t queued_bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  struct Slot {
    Element element;
    int64_t bytes = 0;
  };
  bool push_ring(Slot& slot);
  bool drain_overflow();

  obs::MemoryAccount* memory_;
  std::vector<Slot> ring_;
  std::mutex side_;            // guards what follows against the consumer's look at a barrier
  std::deque<Slot> overflow_;  // producer's
  Barrier barrier_;            // announced
  uint64_t barrier_at_ = 0;    // as head_ counts
  std::atomic<bool> announced_{false};
  std::atomic<uint64_t> head_{0};  // next to pop
  std::atomic<uint64_t> tail_{0};  // next to push
  std::atomic<int64_t> bytes_{0};
  std::atomic<bool> producer_waits_{false};
  std::function<void()> wake_consumer_ = [] {};
  std::function<void()> wake_producer_ = [] {};
};

}  // namespace strand::flow
