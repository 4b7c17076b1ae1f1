#include "runtime/threaded_driver.h"

#include <algorithm>
#include <chrono>

namespace strand::runtime {

namespace {
constexpr Duration kLongestSleep{1000};
constexpr Duration kPublishInterval{200};
constexpr int kStepsInARow = 4;  // of one task, while its data is warm
}  // namespace

void ThreadedDriver::Parker::wake() {
  if (woken_.exchange(true, std::memory_order_acq_rel)) return;
  const std::lock_guard lock(mutex_);
  changed_.notify_one();
}

void ThreadedDriver::Parker::park(Duration at_most) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, std::chrono::milliseconds(at_most.millis), [&] { return woken_.load(); });
  woken_.exchange(false, std::memory_order_acq_rel);  // reads the last wake: what came before it is seen
}

ThreadedDriver::ThreadedDriver(JobAttempt& attempt, env::Clock& clock, int32_t workers)
    : attempt_(attempt), clock_(clock) {
  for (int32_t i = 0; i < workers; ++i) workers_.push_back(std::make_unique<Worker>());
  const Tasks& wiring = attempt.wiring();
  for (const auto& task : wiring.all) {
    const auto hint = static_cast<size_t>(wiring.worker_hint[static_cast<size_t>(task->id())]);
    Worker& worker = *workers_[hint % workers_.size()];
    worker.tasks.push_back(task);
    task->mailbox().set_waker([parker = worker.parker] { parker->wake(); });
  }
  attempt.mailbox().set_waker([parker = master_] { parker->wake(); });
  for (size_t i = 0; i < wiring.channels.size(); ++i) {
    const auto& ends = wiring.channel_ends[i];
    const auto parker_of = [&](int32_t task) {
      const auto hint = static_cast<size_t>(wiring.worker_hint[static_cast<size_t>(task)]);
      return workers_[hint % workers_.size()]->parker;
    };
    const auto producer = parker_of(ends.first);
    const auto consumer = parker_of(ends.second);
    if (producer == consumer) continue;  // the same thread steps both
    wiring.channels[i]->set_consumer_waker([consumer] { consumer->wake(); });
    wiring.channels[i]->set_producer_waker([producer] { producer->wake(); });
  }
}

ThreadedDriver::~ThreadedDriver() {
  stop();
  for (auto& worker : workers_) {
    if (worker->thread.joinable()) worker->thread.join();
  }
}

void ThreadedDriver::stop() {
  stopping_ = true;
  for (auto& worker : workers_) worker->parker->wake();
  master_->wake();
}

void ThreadedDriver::fail(Status status) {
  {
    const std::lock_guard lock(failure_mutex_);
    if (failure_.ok()) failure_ = std::move(status);
  }
  stop();
}

Result<bool> ThreadedDriver::round(Worker& worker, WallTime now, WallTime& until) {
  bool progressed = false;
  for (const auto& task : worker.tasks) {
    for (int i = 0; i < kStepsInARow; ++i) {
      STRAND_TRY(const Step step, task->step(now, Phase::kCompletions));
      if (step.state == Step::State::kProgressed) {
        progressed = true;
        continue;
      }
      if (step.state != Step::State::kFinished) until = std::min(until, step.until);
      break;
    }
  }
  return progressed;
}

void ThreadedDriver::work(Worker& worker) {
  WallTime published{0};
  while (!stopping_) {
    const WallTime now = clock_.now();
    WallTime until = WallTime::never();
    const Result<bool> progressed = round(worker, now, until);
    if (!progressed.ok()) return fail(progressed.status());
    if (now >= published + kPublishInterval || now < published) {
      published = now;
      for (const auto& task : worker.tasks) task->publish();
    }
    if (*progressed) continue;
    const int64_t wait =
        std::min({until.millis - clock_.now().millis, kLongestSleep.millis, kPublishInterval.millis});
    if (wait > 0) worker.parker->park(Duration{wait});
  }
}

Status ThreadedDriver::run() {
  for (auto& worker : workers_) {
    worker->thread = std::thread([this, w = worker.get()] { work(*w); });
  }
  while (!stopping_) {
    const Result<Step> step = attempt_.step(clock_.now());
    if (!step.ok()) {
      fail(step.status());
      break;
    }
    if (step->state == Step::State::kFinished) break;
    if (step->state == Step::State::kProgressed) continue;
    const int64_t wait = std::min(step->until.millis - clock_.now().millis, kLongestSleep.millis);
    if (wait > 0) master_->park(Duration{wait});
  }
  stop();
  for (auto& worker : workers_) worker->thread.join();
  for (auto& worker : workers_) {
    for (const auto& task : worker->tasks) task->publish();
  }
  const std::lock_guard lock(failure_mutex_);
  return failure_;
}

}  // namespace strand::runtime
