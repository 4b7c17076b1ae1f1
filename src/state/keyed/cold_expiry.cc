#include "state/keyed/cold_expiry.h"

#include <mutex>

#include "state/keyed/cold_key.h"

namespace strand::state {

void ColdExpiry::watch(const std::string& cold_name, Expiry expiry) {
  const std::unique_lock lock(mutex_);
  states_[cold_name].expiry = std::move(expiry);
}

bool ColdExpiry::expired(std::string_view key, std::string_view value) const {
  const std::shared_lock lock(mutex_);
  const auto found = states_.find(cold_name_of(key));
  if (found == states_.end()) return false;
  const State& state = found->second;
  if (state.seen.fetch_add(1, std::memory_order_relaxed) % state.expiry.entries_per_clock_reading == 0)
    state.now.store(clock_().millis, std::memory_order_relaxed);
  return state.expiry.expired(value, WallTime{state.now.load(std::memory_order_relaxed)});
}

}  // namespace strand::state
