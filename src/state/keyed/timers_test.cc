#include "state/keyed/timers.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <set>

#include "base/random.h"

namespace strand::state {
namespace {

/// Times of all sizes, some of them near each other.
int64_t time_near(int64_t now, Random& random) {
  switch (random.below(6)) {
    case 0:
      return now;
    case 1:
      return now - static_cast<int64_t>(random.below(1000));
    case 2:
      return now + static_cast<int64_t>(random.below(uint64_t{1} << random.below(60)));
    case 3:
      return random.below(2) == 0 ? INT64_MAX : INT64_MIN;
    default:
      return now + static_cast<int64_t>(random.below(300));
  }
}

RC_GTEST_PROP(Timers, FireAsThoseOfASortedSetDo, ()) {
  Random random(*rc::gen::arbitrary<uint64_t>());
  Timers timers;
  std::set<Timer> model;
  int64_t now = -5'000;
  for (int step = 0; step < 3000; ++step) {
    const Timer timer{time_near(now, random),
                      {static_cast<int32_t>(random.below(3)), std::string(random.below(4) * 5, 'k'), {0, 0}}};
    const uint64_t what = random.below(10);
    if (what < 5) {
      timers.set(timer.key.view(), timer.time);
      model.insert(timer);
    } else if (what < 7 && !model.empty()) {
      const auto some = model.lower_bound(timer);
      const Timer gone = some == model.end() ? *model.begin() : *some;
      timers.erase(gone.key.view(), gone.time);
      model.erase(gone);
    } else {
      if (what == 9) now += static_cast<int64_t>(random.below(uint64_t{1} << random.below(20)));
      const auto fired = timers.pop_due(now);
      const bool due = !model.empty() && model.begin()->time <= now;
      RC_ASSERT(fired.has_value() == due);
      if (due) RC_ASSERT(*fired == *model.begin());
      if (due) model.erase(model.begin());
    }
    RC_ASSERT(timers.size() == static_cast<int64_t>(model.size()));
  }
  while (const auto fired = timers.pop_due(INT64_MAX)) {
    RC_ASSERT(*fired == *model.begin());
    model.erase(model.begin());
  }
  RC_ASSERT(model.empty());
}

TEST(Timers, TakenBackTimersGiveTheirMemoryBack) {
  Timers timers;
  const StateKeyView key{1, "a", {}};
  for (int64_t time = 0; time < 100'000; ++time) {
    timers.set(key, 1'000'000 + time);
    timers.erase(key, 1'000'000 + time);
  }
  EXPECT_EQ(timers.size(), 0);
  EXPECT_LT(timers.slots(), 10'000u);
}

}  // namespace
}  // namespace strand::state
