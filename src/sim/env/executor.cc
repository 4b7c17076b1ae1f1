#include "sim/env/executor.h"

#include <algorithm>
#include <vector>

namespace strand::sim {

void SimExecutor::submit(uint64_t lane, std::function<void()> work) {
  const Duration delay = delay_(lane);
  trace_->note("submit", "", lane);
  counts_->add_call(Call::kSubmit);
  if (delay > Duration{0}) counts_->add_fault(Call::kSubmit, Fault::kSlow);
  lanes_[lane].push_back({std::move(work), clock_->steady_nanos() + delay.millis * SimClock::kNanosPerMilli});
}

void SimExecutor::drain() {
  while (!lanes_.empty() && !dead_()) {
    if (run_one(order_)) continue;
    const int64_t wait = *next_ready() - clock_->steady_nanos();
    clock_->advance(Duration{(wait + SimClock::kNanosPerMilli - 1) / SimClock::kNanosPerMilli});
  }
}

bool SimExecutor::run_one(Random& random) {
  std::vector<uint64_t> ready;
  for (const auto& [lane, works] : lanes_) {
    if (works.front().ready_nanos <= clock_->steady_nanos()) ready.push_back(lane);
  }
  return !ready.empty() && run_lane(ready[random.below(ready.size())]);
}

bool SimExecutor::run_lane(uint64_t lane) {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end() || found->second.front().ready_nanos > clock_->steady_nanos()) return false;
  const Work work = std::move(found->second.front());
  found->second.pop_front();
  if (found->second.empty()) lanes_.erase(found);
  trace_->note("run", "", lane);
  work.run();
  return true;
}

std::optional<int64_t> SimExecutor::next_ready() const {
  std::optional<int64_t> next;
  for (const auto& [lane, works] : lanes_) {
    next = std::min(next.value_or(works.front().ready_nanos), works.front().ready_nanos);
  }
  return next;
}

size_t SimExecutor::pending() const {
  size_t count = 0;
  for (const auto& [lane, works] : lanes_) count += works.size();
  return count;
}

void SimExecutor::drop_all() {
  trace_->note("drop", "", pending());
  lanes_.clear();
}

}  // namespace strand::sim
