// The memory account of a job.
#pragma once

#include <atomic>
#include <cstdint>

namespace strand::obs {

/// Counts the bytes that queues, batches, state and held-back rows of one job take, against a limit. At the soft
/// limit sources pause; state beyond the hard limit ends the job with STRAND-1010, never the system's OOM killer.
/// Thread-safe.
class MemoryAccount {
 public:
  explicit MemoryAccount(int64_t limit = INT64_MAX) : limit_(limit) {}
  void charge(int64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }
  int64_t used() const { return used_.load(std::memory_order_relaxed); }
  int64_t limit() const { return limit_; }
  /// Sources should wait: 90 % of the limit is taken.
  bool pressed() const { return used() > limit_ / 10 * 9; }
  bool exceeded() const { return used() > limit_; }

 private:
  std::atomic<int64_t> used_{0};
  int64_t limit_;
};

/// One holder's share of an account: `set` charges the difference; the destructor gives everything back.
/// Belongs to one thread.
class MemoryShare {
 public:
  MemoryShare() = default;
  explicit MemoryShare(MemoryAccount* account) : account_(account) {}
  MemoryShare(MemoryShare&& o) noexcept : account_(o.account_), held_(o.held_) { o.held_ = 0; o.account_ = nullptr; }
  MemoryShare& operator=(MemoryShare&& o) noexcept {
    if (this != &o) {
      set(0);
      account_ = o.account_;
      held_ = o.held_;
      o.held_ = 0;
      o.account_ = nullptr;
    }
    return *this;
  }
  ~MemoryShare() { set(0); }
  void set(int64_t bytes) {
    if (account_ != nullptr && bytes != held_) account_->charge(bytes - held_);
    held_ = bytes;
  }
  int64_t held() const { return held_; }

 private:
  MemoryAccount* account_ = nullptr;
  int64_t held_ = 0;
};

}  // namespace strand::obs
