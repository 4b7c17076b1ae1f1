// Messages to a task or to the job master, from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <mutex>
#include <vector>

namespace strand::runtime {

/// Messages from any thread to one owner, which takes them all at once, in the order in which they came.
template <class Message>
class Mailbox {
 public:
  void post(Message message) {
    {
      const std::lock_guard lock(mutex_);
      messages_.push_back(std::move(message));
    }
    waiting_.store(true, std::memory_order_release);
    wake();
  }
  /// Wakes the owner without a message.
  void wake() {
    const std::lock_guard lock(wake_mutex_);
    wake_();
  }
  bool empty() const { return !waiting_.load(std::memory_order_acquire); }
  std::vector<Message> take() {
    if (empty()) return {};
    const std::lock_guard lock(mutex_);
    waiting_.store(false, std::memory_order_relaxed);
    return std::exchange(messages_, {});
  }
  /// Background work may post before: whoever sets the waker looks into the mailbox once afterwards.
  void set_waker(std::function<void()> wake) {
    const std::lock_guard lock(wake_mutex_);
    wake_ = std::move(wake);
  }

 private:
  std::mutex mutex_;
  std::vector<Message> messages_;
  std::atomic<bool> waiting_{false};
  std::mutex wake_mutex_;
  std::function<void()> wake_ = [] {};
};

}  // namespace strand::runtime
