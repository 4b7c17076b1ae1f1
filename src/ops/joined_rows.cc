#include "ops/joined_rows.h"

#include "base/hash.h"

namespace strand::ops {

JoinedRows::Row& JoinedRows::add(uint64_t key_hash, std::string_view key, std::string_view bytes,
                                 WallTime now) {
  const Id id = rows_.find_or_add(hash64(bytes), bytes);
  Row& added = rows_[id];
  if (added.count++ == 0) {
    added.key = keys_.find_or_add(key_hash, key);
    Key& list = keys_[added.key];
    added.next = list.first;
    added.previous = kNone;
    if (list.first != kNone) rows_[list.first].previous = id;
    list.first = id;
  }
  ++count_;
  write(id, now);
  return added;
}

bool JoinedRows::remove(std::string_view bytes) {
  const Id id = rows_.find(hash64(bytes), bytes);
  if (id == kNone) return false;
  --count_;
  if (--rows_[id].count == 0) erase(id);
  return true;
}

void JoinedRows::erase(Id id) {
  const Row gone = rows_[id];
  if (gone.next != kNone) rows_[gone.next].previous = gone.previous;
  if (gone.previous != kNone) {
    rows_[gone.previous].next = gone.next;
  } else {
    keys_[gone.key].first = gone.next;
    if (gone.next == kNone) keys_.erase(gone.key);
  }
  rows_.erase(id);
}

JoinedRows::Id JoinedRows::first(uint64_t key_hash, std::string_view key) const {
  const auto id = keys_.find(key_hash, key);
  return id == state::KeySlots<Key>::kNone ? kNone : keys_[id].first;
}

void JoinedRows::write(Id id, WallTime now) {
  rows_[id].written = now;
  if (ordered_) writes_.push_back({now, id});
}

bool JoinedRows::is_newest(const Write& write) const {
  return rows_[write.id].count > 0 && rows_[write.id].written == write.at;
}

WallTime JoinedRows::oldest() {
  while (!writes_.empty() && !is_newest(writes_.front())) writes_.pop_front();
  return writes_.empty() ? WallTime::never() : writes_.front().at;
}

int64_t JoinedRows::forget(WallTime until) {
  int64_t forgotten = 0;
  while (oldest() <= until) {
    const Id id = writes_.front().id;
    forgotten += rows_[id].count;
    erase(id);
  }
  count_ -= forgotten;
  return forgotten;
}

}  // namespace strand::ops
