#include "ops/group_values.h"

#include <cstring>

#include "base/hash.h"

namespace strand::ops {

namespace {
constexpr uint32_t kNullKey = 0xFFFFFFFF;
using Aggregate16 = uint16_t;
}  // namespace

void GroupValues::at(uint64_t hash, std::string_view key, Id& first) {
  hash_ = hash;
  first_ = &first;
  const uint32_t length = key.data() == nullptr ? kNullKey : static_cast<uint32_t>(key.size());
  bytes_.assign(reinterpret_cast<const char*>(&length), sizeof length);
  bytes_.append(key);
  key_bytes_ = bytes_.size();
}

GroupValues::Id GroupValues::find(size_t aggregate, std::string_view value, uint64_t& hash) {
  const auto number = static_cast<Aggregate16>(aggregate);
  bytes_.resize(key_bytes_);
  bytes_.append(reinterpret_cast<const char*>(&number), sizeof number);
  bytes_.append(value);
  hash = hash64(bytes_);
  return by_bytes_.find(hash, [&](Id each) { return rows_.body(each) == bytes_; });
}

void GroupValues::insert(uint64_t hash, int64_t count) {
  const Id added = rows_.add(hash_, {count}, bytes_);
  by_bytes_.add(hash, added);
  link(added, *first_);
}

bool GroupValues::put(size_t aggregate, std::string_view value) {
  uint64_t hash = 0;
  const bool fresh = find(aggregate, value, hash) == kNone;
  if (fresh) insert(hash, 1);
  return fresh;
}

int64_t GroupValues::add(size_t aggregate, std::string_view value, int64_t by) {
  uint64_t hash = 0;
  const Id id = find(aggregate, value, hash);
  if (id == kNone) {
    insert(hash, by);
    return by;
  }
  const int64_t count = rows_[id].head.count += by;
  if (count == 0) {
    erase(id);
  } else {
    rows_.changed(id);
  }
  return count;
}

void GroupValues::clear() {
  while (*first_ != kNone) {
    erase(*first_);
    rows_.let_go();
  }
}

void GroupValues::link(Id id, Id& first) {
  rows_[id].previous = kNone;
  rows_[id].next = first;
  if (first != kNone) rows_[first].previous = id;
  first = id;
}

/// A value of the group at hand.
void GroupValues::erase(Id id) {
  const Value gone = rows_[id];
  if (gone.next != kNone) rows_[gone.next].previous = gone.previous;
  (gone.previous != kNone ? rows_[gone.previous].next : *first_) = gone.next;
  by_bytes_.erase(hash64(rows_.body(id)), id);
  rows_.erase(id);
}

GroupValues::Restored GroupValues::restored(Id id) const {
  std::string_view body = rows_.body(id);
  const auto take = [&body](auto value) {
    std::memcpy(&value, body.data(), sizeof value);
    body.remove_prefix(sizeof value);
    return value;
  };
  Restored value{rows_.hash(id), {}, 0, {}, rows_[id].head.count};
  const auto length = take(uint32_t{});
  if (length != kNullKey) {
    value.key = body.substr(0, length);
    body.remove_prefix(length);
  }
  value.aggregate = take(Aggregate16{});
  value.value = body;
  return value;
}

}  // namespace strand::ops
