#include "env/real.h"

#include <time.h>

#include <chrono>

namespace strand::env {

namespace {

int64_t nanos_of(clockid_t id) {
  timespec t{};
  STRAND_CHECK(clock_gettime(id, &t) == 0);
  return int64_t{t.tv_sec} * 1'000'000'000 + t.tv_nsec;
}

}  // namespace

WallTime RealClock::now() { return {nanos_of(CLOCK_REALTIME) / 1'000'000}; }
int64_t RealClock::steady_nanos() { return nanos_of(CLOCK_MONOTONIC); }
int64_t RealClock::thread_cpu_nanos() { return nanos_of(CLOCK_THREAD_CPUTIME_ID); }

void sleep(Duration duration) {
  if (duration > Duration{0}) std::this_thread::sleep_for(std::chrono::milliseconds(duration.millis));
}

ThreadExecutor::ThreadExecutor(size_t threads) {
  STRAND_CHECK(threads > 0);
  for (size_t i = 0; i < threads; ++i) threads_.emplace_back([this] { run(); });
}

ThreadExecutor::~ThreadExecutor() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
}

void ThreadExecutor::submit(uint64_t lane, std::function<void()> work) {
  {
    const std::lock_guard lock(mutex_);
    const auto [found, is_new] = lanes_.try_emplace(lane);
    found->second.push_back(std::move(work));
    if (!is_new) return;  // already waiting for a thread, or held by one that will look again
    ready_.push_back(lane);
  }
  changed_.notify_one();
}

void ThreadExecutor::drain() {
  std::unique_lock lock(mutex_);
  drained_.wait(lock, [this] { return lanes_.empty(); });
}

void ThreadExecutor::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    // Works may submit further works, so the end is reached when no lane has any.
    changed_.wait(lock, [this] { return !ready_.empty() || (ending_ && lanes_.empty()); });
    if (ready_.empty()) return;
    const uint64_t lane = ready_.front();
    ready_.pop_front();
    {
      const std::function<void()> work = std::move(lanes_[lane].front());
      lock.unlock();
      work();
    }  // what the work owned is released before the next of its lane, outside the lock
    lock.lock();
    const auto found = lanes_.find(lane);
    found->second.pop_front();
    if (found->second.empty()) {
      lanes_.erase(found);
      if (lanes_.empty()) drained_.notify_all();
      if (ending_ && lanes_.empty()) changed_.notify_all();
    } else {
      ready_.push_back(lane);
      changed_.notify_one();
    }
  }
}

}  // namespace strand::env
