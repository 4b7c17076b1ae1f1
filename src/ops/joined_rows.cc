#include "ops/joined_rows.h"

#include <algorithm>

#include "base/hash.h"

namespace strand::ops {

JoinedRows::Id JoinedRows::find(std::string_view row) const {
  return by_bytes_.find(hash64(row), [&](Id each) { return rows_.body(each) == row; });
}

void JoinedRows::add(const Key& key, std::string_view row, int64_t partners, WallTime now) {
  const Id list = first(key);
  Id id = kNone;
  if (indexed_) {
    id = find(row);
  } else if (list != kNone && rows_.body(rows_[list].previous) == row) {
    id = rows_[list].previous;
  }
  ++count_;
  const auto counted = static_cast<int32_t>(partners);
  if (id == kNone) {
    id = rows_.add(key.hash, {now.millis, 1, counted}, row);
    put(id, key, list);
  } else {
    ++equal_;
    Row::Head& head = rows_[id].head;
    head = {now.millis, head.count + 1, counted};
    rows_.changed(id);
  }
  note(id);
}

void JoinedRows::put(Id id, const Key& key, Id head) {
  if (indexed_) by_bytes_.add(hash64(rows_.body(id)), id);
  if (rows_.size() == kJudged && !removes_ && equal_ < kJudged / 16) {
    indexed_ = false;
    by_bytes_.clear();
  }
  if (head == kNone) {
    rows_[id].next = rows_[id].previous = id;
    keys_.add(key.hash, id);
    return;
  }
  const Id last = rows_[head].previous;
  rows_[id].previous = last;
  rows_[id].next = head;
  rows_[last].next = id;
  rows_[head].previous = id;
}

bool JoinedRows::remove(std::string_view row) {
  removes_ = true;
  if (!indexed_) {
    indexed_ = true;
    rows_.for_each([&](Id id) { by_bytes_.add(hash64(rows_.body(id)), id); });
  }
  const Id id = find(row);
  if (id == kNone) return false;
  --count_;
  if (--rows_[id].head.count > 0) {
    rows_.changed(id);
  } else {
    erase(id);
  }
  return true;
}

void JoinedRows::erase(Id id) {
  const uint64_t key_hash = rows_.hash(id);
  if (indexed_) by_bytes_.erase(hash64(rows_.body(id)), id);
  const Row gone = rows_[id];
  const bool first = keys_.find(key_hash, [&](Id each) { return each == id; }) != kNone;
  if (first) keys_.erase(key_hash, id);
  if (gone.next != id) {
    if (first) keys_.add(key_hash, gone.next);
    rows_[gone.previous].next = gone.next;
    rows_[gone.next].previous = gone.previous;
  }
  rows_[id].head.count = 0;
  rows_.erase(id);
}

JoinedRows::Id JoinedRows::first(const Key& key) const {
  return keys_.find(key.hash, [&](Id each) { return rows_.body(each).starts_with(key.bytes); });
}

void JoinedRows::partners_of(const Key& key, std::vector<Id>& out) const {
  const Id head = first(key);
  if (head == kNone) return;
  Id id = head;
  do {
    out.push_back(id);
    id = rows_[id].next;
  } while (id != head);
}

void JoinedRows::add_partners(Id id, int32_t by, WallTime now) {
  rows_[id].head.partners += by;
  rows_[id].head.written = now.millis;
  rows_.changed(id);
  note(id);
}

void JoinedRows::note(Id id) {
  if (ordered_) writes_.push_back({rows_[id].head.written, id});
}

Status JoinedRows::restore(const std::vector<state::Section>& sections, const Owner& owner) {
  STRAND_OK(rows_.restore(sections, owner.groups, owner.mine));
  rows_.for_each([&](Id id) { count_ += rows_[id].head.count; });
  equal_ = count_ - rows_.size();
  indexed_ = rows_.size() < kJudged || equal_ >= rows_.size() / 16;
  rows_.for_each([&](Id id) {
    const Key key{rows_.hash(id), owner.key_of(rows_.body(id))};
    put(id, key, first(key));
    note(id);
  });
  std::ranges::sort(writes_, {}, &Write::at);
  return rows_.intact();
}

void JoinedRows::prefetch(Near near, uint64_t key_hash) const {
  const Id id = near == Near::kSlot ? kNone : keys_.guess(key_hash);
  if (near == Near::kSlot) keys_.prefetch(key_hash);
  if (near == Near::kRow) rows_.prefetch(id);
  if (near == Near::kBytes) rows_.prefetch_body(id);
}

bool JoinedRows::is_newest(const Write& write) const {
  return rows_[write.id].head.count > 0 && rows_[write.id].head.written == write.at;
}

WallTime JoinedRows::oldest() {
  while (!writes_.empty() && !is_newest(writes_.front())) writes_.pop_front();
  return writes_.empty() ? WallTime::never() : WallTime{writes_.front().at};
}

Result<int64_t> JoinedRows::forget(WallTime until) {
  const int64_t before = count_;
  for (int64_t rows = 1; oldest() <= until; ++rows) {
    const Id id = writes_.front().id;
    count_ -= rows_[id].head.count;
    erase(id);
    STRAND_OK(let_go());
    if (rows % kForgottenMost == 0) STRAND_OK(tidy());
  }
  return before - count_;
}

}  // namespace strand::ops
