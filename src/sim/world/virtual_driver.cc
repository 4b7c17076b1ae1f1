#include "sim/world/virtual_driver.h"

#include <algorithm>

namespace strand::sim {

using runtime::Phase;
using runtime::Step;

namespace {
constexpr int kStepsMax = 1'000'000;  // of one instant: more means that something spins
}

Result<bool> VirtualDriver::run_background() {
  bool any = false;
  while (world_.executor.run_one(order_)) any = true;
  return any;
}

Status VirtualDriver::phase(Phase upto, bool& progressed) {
  const WallTime now = world_.clock.now();
  for (int steps = 0; steps < kStepsMax; ++steps) {
    bool again = false;
    for (const auto& task : attempt_.tasks()) {
      STRAND_TRY(const Step step, task->step(now, upto));
      again = again || step.state == Step::State::kProgressed;
    }
    if (upto >= Phase::kBarriers && !attempt_.finished()) {
      STRAND_TRY(const Step step, attempt_.step(now));
      master_until_ = step.until;
      again = again || step.state == Step::State::kProgressed;
    }
    STRAND_TRY(const bool background, run_background());
    if (!again && !background) return Status();
    progressed = true;
  }
  return Status(ErrorCode::kInternal, "the tasks do not come to rest at " + std::to_string(now.millis));
}

Status VirtualDriver::settle() {
  for (int rounds = 0; rounds < kStepsMax; ++rounds) {
    bool progressed = false;
    for (const Phase upto :
         {Phase::kTimers, Phase::kReads, Phase::kBarriers, Phase::kTicks, Phase::kCompletions}) {
      STRAND_OK(phase(upto, progressed));
    }
    if (!progressed) break;
  }
  for (const auto& task : attempt_.tasks()) task->publish();
  return Status();
}

WallTime VirtualDriver::next_instant() {
  const WallTime now = world_.clock.now();
  WallTime next = master_until_;
  for (const auto& task : attempt_.tasks()) {
    const auto step = task->step(now, Phase::kCompletions);
    if (!step.ok()) return now;
    if (step->state == Step::State::kProgressed) return now;
    if (step->state != Step::State::kFinished) next = std::min(next, step->until);
  }
  if (const auto ready = world_.executor.next_ready()) {
    const int64_t wait =
        (*ready - world_.clock.steady_nanos() + SimClock::kNanosPerMilli - 1) / SimClock::kNanosPerMilli;
    next = std::min(next, now + Duration{std::max<int64_t>(wait, 0)});
  }
  return next;
}

Status VirtualDriver::run_until(WallTime until) {
  while (true) {
    STRAND_OK(settle());
    if (attempt_.finished()) return Status();
    const WallTime now = world_.clock.now();
    const WallTime next = std::max(next_instant(), WallTime{now.millis + 1});
    if (now >= until) return Status();
    world_.clock.advance(std::min(next, until) - now);
  }
}

Result<bool> VirtualDriver::stumble(Random& random) {
  const WallTime now = world_.clock.now();
  const auto& tasks = attempt_.tasks();
  const size_t choices = tasks.size() + 2;
  const size_t start = random.below(choices);
  for (size_t i = 0; i < choices; ++i) {
    const size_t choice = (start + i) % choices;
    if (choice < tasks.size()) {
      STRAND_TRY(const Step step, tasks[choice]->step(now, Phase::kCompletions));
      if (step.state == Step::State::kProgressed) return true;
    } else if (choice == tasks.size()) {
      STRAND_TRY(const Step step, attempt_.step(now));
      master_until_ = step.until;
      if (step.state == Step::State::kProgressed) return true;
    } else if (world_.executor.run_one(random)) {
      return true;
    }
  }
  return false;
}

}  // namespace strand::sim
