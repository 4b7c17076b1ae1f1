#include "state/keyed/timers.h"

namespace strand::state {

std::optional<Timer> Timers::pop_due(int64_t time) {
  if (timers_.empty() || timers_.begin()->time > time) return std::nullopt;
  return std::move(timers_.extract(timers_.begin()).value());
}

void Timers::save(ByteWriter& out) const {
  out.put(static_cast<uint64_t>(timers_.size()));
  for (const Timer& timer : timers_) {
    out.put(timer.time);
    save_key(timer.key, out);
  }
}

Status Timers::load(ByteReader& in, KeyGroupRange own) {
  STRAND_TRY(const uint64_t count, in.get<uint64_t>());
  for (uint64_t i = 0; i < count; ++i) {
    STRAND_TRY(const int64_t time, in.get<int64_t>());
    STRAND_TRY(StateKey key, load_key(in));
    if (own.contains(key.group)) timers_.insert({time, std::move(key)});
  }
  return {};
}

void save_key(const StateKey& key, ByteWriter& out) {
  out.put(key.group);
  out.put_string(key.key);
  out.put(key.space.first);
  out.put(key.space.second);
}

Result<StateKey> load_key(ByteReader& in) {
  StateKey key;
  STRAND_TRY(key.group, in.get<int32_t>());
  STRAND_TRY(const std::string_view text, in.get_string());
  key.key = text;
  STRAND_TRY(key.space.first, in.get<int64_t>());
  STRAND_TRY(key.space.second, in.get<int64_t>());
  return key;
}

}  // namespace strand::state
