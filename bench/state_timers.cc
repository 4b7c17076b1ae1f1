#include "base/hash.h"
#include "state/keyed/timers.h"
#include "state_bench.h"

namespace strand::bench {

/// Each key has a timer somewhere in the next minute; one that fires is set again, a minute later on average.
void bench_timers(int64_t live) {
  constexpr int64_t kMinute = 60'000;
  std::vector<std::string> keys;
  for (int64_t i = 0; i < live; ++i) keys.push_back("device-" + std::to_string(i));
  state::Timers timers;
  const auto time_of = [](int64_t now, int64_t i) {
    return now + 1 + static_cast<int64_t>(mix64(static_cast<uint64_t>(i + now)) % (2 * kMinute));
  };
  const auto set = [&](int64_t i, int64_t now) {
    const auto n = static_cast<size_t>(i);
    timers.set({static_cast<int32_t>(n % 128), keys[n], {}}, time_of(now, i));
  };
  double start = now();
  for (int64_t i = 0; i < live; ++i)
    set(static_cast<int64_t>(mix64(static_cast<uint64_t>(i)) % keys.size()), i % 1000);
  const double registered = now() - start;
  const int64_t at_once = timers.size();
  int64_t fired = 0;
  start = now();
  for (int64_t time = 1000; fired < 4 * live; time += 100) {
    while (const auto timer = timers.pop_due(time)) {
      ++fired;
      set(std::atoll(timer->key.key.c_str() + 7), time);
    }
  }
  const double busy = now() - start;
  std::printf(
      "{\"bench\":\"timers\",\"live\":%lld,\"registered_per_s\":%.0f,\"registered_and_fired_per_s\":%.0f,"
      "\"ns\":%.1f}\n",
      static_cast<long long>(at_once), static_cast<double>(live) / registered,
      static_cast<double>(fired) / busy, busy / static_cast<double>(fired) * 1e9);
}

}  // namespace strand::bench
