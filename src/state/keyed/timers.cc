#include "state/keyed/timers.h"

#include <algorithm>

namespace strand::state {

namespace {

constexpr int64_t kTimersSweptFrom = 4096;  // erased timers
constexpr size_t kEntriesAhead = 8;         // timers whose memory is fetched

uint64_t timer_hash(const StateKeyView& key, int64_t time) {
  return combine_hash(StateKeyHash()(key), static_cast<uint64_t>(time));
}

/// In the order of StateKey as far as it goes: key group, first bytes of the key.
uint64_t key_begin(const StateKey& key) {
  constexpr size_t kBytes = 6;
  uint64_t begin = static_cast<uint16_t>(key.group);
  for (size_t i = 0; i < kBytes; ++i) {
    begin = (begin << 8) | (i < key.key.size() ? static_cast<uint8_t>(key.key[i]) : 0u);
  }
  return begin;
}

}  // namespace

void Timers::set(const StateKeyView& key, int64_t time) {
  const uint64_t hash = timer_hash(key, time);
  const auto same = [&](uint32_t id) {
    return entries_[id].timer.time == time && entries_[id].timer.key.view() == key;
  };
  if (index_.find(hash, same) != TimerIndex::kNone) return;
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
  entry.hash = hash;
  entry.live = true;
  index_.add(hash, id);
  ++live_;
  if (wheel_.after(time)) return wheel_.add(time, id);
  added_.push_back(due(id));
  std::ranges::push_heap(added_, [this](const Due& a, const Due& b) { return before(b, a); });
}

void Timers::erase(const StateKeyView& key, int64_t time) {
  const uint64_t hash = timer_hash(key, time);
  const uint32_t id = index_.find(hash, [&](uint32_t found) {
    return entries_[found].timer.time == time && entries_[found].timer.key.view() == key;
  });
  if (id == TimerIndex::kNone) return;
  index_.remove(hash, id);
  entries_[id].live = false;
  --live_;
  if (++dead_ > live_ + kTimersSweptFrom) sweep();
}

std::optional<Timer> Timers::pop_due(int64_t time) {
  for (;;) {
    if (due_.empty() && added_.empty()) {
      if (!wheel_.take(time, bucket_)) return std::nullopt;
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
    free_.push_back(next.id);
    if (!entry.live) {
      --dead_;
      continue;
    }
    entry.live = false;
    --live_;
    index_.remove(entry.hash, next.id);
    return std::move(entry.timer);
  }
}

/// Timers of one time, as they lie in the wheel: makes them what is due.
void Timers::take_bucket() {
  for (size_t i = 0; i < bucket_.size(); ++i) {
    if (i + kEntriesAhead < bucket_.size()) __builtin_prefetch(&entries_[bucket_[i + kEntriesAhead].number]);
    due_.push_back(due(bucket_[i].number));
    index_.prefetch(entries_[bucket_[i].number].hash);
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

void Timers::save(ByteWriter& out) const {
  std::vector<const Timer*> timers;
  for (const Entry& entry : entries_) {
    if (entry.live) timers.push_back(&entry.timer);
  }
  std::ranges::sort(timers, [](const Timer* a, const Timer* b) { return *a < *b; });
  out.put(static_cast<uint64_t>(timers.size()));
  for (const Timer* timer : timers) {
    out.put(timer->time);
    save_key(timer->key, out);
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
