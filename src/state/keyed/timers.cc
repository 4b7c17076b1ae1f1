#include "state/keyed/timers.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace strand::state {

namespace {

constexpr int64_t kTimersSweptFrom = 4096;  // erased timers
constexpr size_t kEntriesAhead = 8;         // timers whose memory is fetched

uint64_t timer_hash(const StateKeyView& key, int64_t time) {
  return combine_hash(StateKeyHash()(key), static_cast<uint64_t>(time));
}

/// In the order of StateKey as far as it goes: key group, first bytes of the key.
uint64_t key_begin(const StateKey& key) {
  uint64_t bytes = 0;
  std::memcpy(&bytes, key.key.data(), std::min(key.key.size(), sizeof bytes));
  return (uint64_t{static_cast<uint16_t>(key.group)} << 48) | (__builtin_bswap64(bytes) >> 16);
}

}  // namespace

void Timers::set(const StateKeyView& key, int64_t time) {
  if (free_.empty()) {
    free_.push_back(static_cast<uint32_t>(entries_.size()));
    entries_.emplace_back();
  }
  const uint32_t id = free_.back();
  free_.pop_back();
  Entry& entry = entries_[id];
  entry.timer.time = time;
  entry.timer.key.group = key.group;
  entry.timer.key.key = key.key;
  entry.timer.key.space = key.space;
  entry.hash = timer_hash(key, time);
  __builtin_prefetch(index_.place(TimerIndex::tag(entry.hash)));
  if (waiting_.size() == kWaitingMax) settle(kWaitingMax / 2);
  waiting_.push_back({entry.hash, id});
  waiting_earliest_ = std::min(waiting_earliest_, time);
}

uint32_t Timers::find(const Timer& timer, uint64_t hash) const {
  return index_.find(hash, [&](uint32_t id) { return entries_[id].live && entries_[id].timer == timer; });
}

int64_t Timers::fresh_waiting() const {
  int64_t fresh = 0;
  for (size_t i = 0; i < waiting_.size(); ++i) {
    const Timer& timer = entries_[waiting_[i].id].timer;
    const auto earlier = std::span(waiting_).first(i);
    const bool again =
        std::ranges::any_of(earlier, [&](const Waiting& other) { return entries_[other.id].timer == timer; });
    fresh += static_cast<int64_t>(!again && find(timer, waiting_[i].hash) == TimerIndex::kNone);
  }
  return fresh;
}

/// Looks up the first `n` that wait.
void Timers::settle(size_t n) {
  for (size_t i = 0; i < n; ++i) settle_one(waiting_[i]);
  waiting_.erase(waiting_.begin(), waiting_.begin() + static_cast<std::ptrdiff_t>(n));
  if (waiting_.empty()) waiting_earliest_ = INT64_MAX;
}

void Timers::settle_one(const Waiting& waiting) {
  const auto& [hash, id] = waiting;
  const Timer& timer = entries_[id].timer;
  if (find(timer, hash) != TimerIndex::kNone) {
    free_.push_back(id);
    return;
  }
  entries_[id].live = true;
  index_.add(hash, id);
  ++live_;
  if (wheel_.after(timer.time)) return wheel_.add({timer.time, id});
  added_.push_back(due(id));
  std::ranges::push_heap(added_, [this](const Due& a, const Due& b) { return before(b, a); });
}

void Timers::erase(const StateKeyView& key, int64_t time) {
  settle(waiting_.size());
  const uint64_t hash = timer_hash(key, time);
  const uint32_t id = index_.find(hash, [&](uint32_t found) {
    const Timer& timer = entries_[found].timer;
    return entries_[found].live && timer.time == time && timer.key.view() == key;
  });
  if (id == TimerIndex::kNone) return;
  index_.remove(hash, id);
  entries_[id].live = false;
  --live_;
  if (++dead_ > live_ + kTimersSweptFrom) sweep();
}

std::optional<Timer> Timers::pop_due(int64_t time) {
  if (waiting_earliest_ <= time) settle(waiting_.size());
  const auto soon = [this](const TimerWheel::Item& item) -> std::array<const void*, 2> {
    const Entry& entry = entries_[item.number];
    return {&entry, &entry.hash};
  };
  for (;;) {
    if (due_.empty() && added_.empty()) {
      if (!wheel_.take(time, bucket_, soon)) return std::nullopt;
      take_bucket();
    }
    const bool from_added = due_.empty() || (!added_.empty() && before(added_.front(), due_.back()));
    const Due next = from_added ? added_.front() : due_.back();
    if (next.time > time) return std::nullopt;
    if (from_added) {
      std::ranges::pop_heap(added_, [this](const Due& a, const Due& b) { return before(b, a); });
      added_.pop_back();
    } else {
      due_.pop_back();
    }
    Entry& entry = entries_[next.id];
    if (!entry.live) {
      free_.push_back(next.id);
      --dead_;
      continue;
    }
    entry.live = false;
    --live_;
    __builtin_prefetch(index_.place(TimerIndex::tag(entry.hash)));
    if (fired_.size() == kWaitingMax) forget(kWaitingMax / 2);
    fired_.push_back(next.id);
    return std::move(entry.timer);
  }
}

std::optional<int64_t> Timers::earliest() const {
  std::optional<int64_t> first = wheel_.earliest();
  const auto take = [&](int64_t time) { first = std::min(first.value_or(time), time); };
  if (!waiting_.empty()) take(waiting_earliest_);
  if (!due_.empty()) take(due_.back().time);
  if (!added_.empty()) take(added_.front().time);
  return first;
}

/// Takes the first `n` of those that have fired out of the index.
void Timers::forget(size_t n) {
  for (size_t i = 0; i < n; ++i) {
    index_.remove(entries_[fired_[i]].hash, fired_[i]);
    free_.push_back(fired_[i]);
  }
  fired_.erase(fired_.begin(), fired_.begin() + static_cast<std::ptrdiff_t>(n));
}

/// Timers of one time, as they lie in the wheel: makes them what is due.
void Timers::take_bucket() {
  for (size_t i = 0; i < bucket_.size(); ++i) {
    if (i + kEntriesAhead < bucket_.size()) __builtin_prefetch(&entries_[bucket_[i + kEntriesAhead].number]);
    due_.push_back(due(bucket_[i].number));
  }
  std::ranges::sort(due_, [this](const Due& a, const Due& b) { return before(b, a); });
}

Timers::Due Timers::due(uint32_t id) const {
  return {entries_[id].timer.time, key_begin(entries_[id].timer.key), id};
}

bool Timers::before(const Due& a, const Due& b) const {
  if (a.time != b.time) return a.time < b.time;
  if (a.key != b.key) return a.key < b.key;
  return entries_[a.id].timer.key < entries_[b.id].timer.key;
}

void Timers::sweep() {
  wheel_.remove_if([&](uint32_t id) {
    if (entries_[id].live) return false;
    free_.push_back(id);
    --dead_;
    return true;
  });
}

std::vector<Timer> Timers::all() const {
  std::vector<Timer> timers;
  timers.reserve(static_cast<size_t>(live_) + waiting_.size());
  for (const Entry& entry : entries_) {
    if (entry.live) timers.push_back(entry.timer);
  }
  for (const Waiting& waiting : waiting_) timers.push_back(entries_[waiting.id].timer);
  return timers;
}

void save_timers(std::vector<Timer>& timers, ByteWriter& out) {
  std::ranges::sort(timers);
  const auto again = std::ranges::unique(timers);
  timers.erase(again.begin(), again.end());
  out.put(static_cast<uint64_t>(timers.size()));
  for (const Timer& timer : timers) {
    out.put(timer.time);
    save_key(timer.key, out);
  }
}

Status Timers::load(ByteReader& in, KeyGroupRange own) {
  STRAND_TRY(const uint64_t count, in.get<uint64_t>());
  for (uint64_t i = 0; i < count; ++i) {
    STRAND_TRY(const int64_t time, in.get<int64_t>());
    STRAND_TRY(const StateKey key, load_key(in));
    if (own.contains(key.group)) set(key.view(), time);
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
