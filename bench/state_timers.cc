#include <charconv>

#include "base/hash.h"
#include "state/keyed/timers.h"
#include "state_bench.h"

namespace strand::bench {

/// Each key has a timer somewhere in the next two minutes; one that fires is set again.
void bench_timers(int64_t live) {
  constexpr uint64_t kTwoMinutes = 120'000;
  state::Timers timers;
  uint64_t random = 1;
  const auto set = [&](int32_t group, std::string_view key, int64_t now) {
    random = mix64(random + 1);
    timers.set({group, key, {}}, now + 1 + static_cast<int64_t>(random % kTwoMinutes));
  };
  char text[24] = "device-";
  double start = now();
  for (int64_t i = 0; i < live; ++i) {
    const auto end = std::to_chars(text + 7, text + sizeof text, i);
    set(static_cast<int32_t>(i % 128), {text, static_cast<size_t>(end.ptr - text)}, 0);
  }
  const double registered = now() - start;
  int64_t fired = 0;
  start = now();
  for (int64_t time = 100; fired < 4 * live; time += 100) {
    while (const auto timer = timers.pop_due(time)) {
      ++fired;
      set(timer->key.group, timer->key.key, time);
    }
  }
  const double busy = now() - start;
  std::printf(
      "{\"bench\":\"timers\",\"live\":%lld,\"registered_per_s\":%.0f,\"registered_and_fired_per_s\":%.0f,"
      "\"ns\":%.1f}\n",
      static_cast<long long>(timers.size()), static_cast<double>(live) / registered,
      static_cast<double>(fired) / busy, busy / static_cast<double>(fired) * 1e9);
}

}  // namespace strand::bench
