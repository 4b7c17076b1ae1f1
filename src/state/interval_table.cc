#include "state/interval_table.h"

#include <algorithm>
#include <cstring>

#include "base/floor_div.h"

namespace strand::state {

namespace {

constexpr size_t kFirstBlock = 256;
constexpr size_t kBlock = size_t{16} << 10;

uint64_t entry(uint64_t hash, uint32_t id) { return (hash << 32) | (uint64_t{id} + 1); }

}  // namespace

std::string_view IntervalTable::Slice::store(std::string_view key) {
  if (key.data() == nullptr) return {};
  if (blocks.empty() || block_used + key.size() > block_size) {
    block_size = std::max(key.size(), blocks.empty() ? kFirstBlock : kBlock);
    blocks.push_back(std::make_unique_for_overwrite<char[]>(block_size));
    bytes += static_cast<int64_t>(block_size);
    block_used = 0;
  }
  char* const at = blocks.back().get() + block_used;
  if (!key.empty()) std::memcpy(at, key.data(), key.size());
  block_used += key.size();
  return {at, key.size()};
}

size_t IntervalTable::slot_of(uint64_t hash, std::string_view key) const {
  for (size_t at = hash & mask();; at = (at + 1) & mask()) {
    const uint64_t slot = slots_[at];
    if (slot == 0) return at;
    if (static_cast<uint32_t>(slot >> 32) != static_cast<uint32_t>(hash)) continue;
    const Key& found = keys_[static_cast<uint32_t>(slot) - 1];
    const bool same_null = (found.bytes.data() == nullptr) == (key.data() == nullptr);
    if (found.hash == hash && same_null && found.bytes == key) return at;
  }
}

IntervalTable::KeyId IntervalTable::find(uint64_t hash, std::string_view key) const {
  const uint64_t slot = slots_[slot_of(hash, key)];
  return slot == 0 ? kNoKey : static_cast<uint32_t>(slot) - 1;
}

IntervalTable::KeyId IntervalTable::find_or_add(uint64_t hash, std::string_view key) {
  size_t at = slot_of(hash, key);
  if (slots_[at] != 0) return static_cast<uint32_t>(slots_[at]) - 1;
  if (static_cast<size_t>(used_ + 1) * 10 > slots_.size() * 6) {
    grow();
    at = slot_of(hash, key);
  }
  KeyId id = static_cast<KeyId>(keys_.size());
  if (free_keys_.empty()) {
    keys_.emplace_back();
  } else {
    id = free_keys_.back();
    free_keys_.pop_back();
    keys_[id] = Key{};
  }
  keys_[id].hash = hash;
  keys_[id].bytes = key;
  slots_[at] = entry(hash, id);
  ++used_;
  return id;
}

void IntervalTable::grow() {
  std::vector<uint64_t> old(slots_.size() * 2);
  old.swap(slots_);
  for (const uint64_t slot : old) {
    if (slot == 0) continue;
    size_t at = keys_[static_cast<uint32_t>(slot) - 1].hash & mask();
    while (slots_[at] != 0) at = (at + 1) & mask();
    slots_[at] = slot;
  }
}

void IntervalTable::release_if_empty(KeyId id) {
  const Key& gone = keys_[id];
  if (gone.sides[0].newest != kNoRow || gone.sides[1].newest != kNoRow) return;
  size_t hole = gone.hash & mask();
  while (static_cast<uint32_t>(slots_[hole]) != id + 1) {
    if (slots_[hole] == 0) return;  // released already
    hole = (hole + 1) & mask();
  }
  // Closes the gap: later entries move up unless they are at home behind it.
  for (size_t at = (hole + 1) & mask(); slots_[at] != 0; at = (at + 1) & mask()) {
    const size_t home = keys_[static_cast<uint32_t>(slots_[at]) - 1].hash & mask();
    if (((at - home) & mask()) < ((at - hole) & mask())) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = 0;
  free_keys_.push_back(id);
  --used_;
}

uint32_t IntervalTable::slice_of(size_t side, int64_t time) {
  const int64_t index = floor_div(time, width_);
  const auto [it, fresh] = by_time_[side].try_emplace(index, 0);
  if (!fresh) return it->second;
  if (free_slices_.empty()) {
    it->second = static_cast<uint32_t>(slices_.size());
    slices_.emplace_back();
  } else {
    it->second = free_slices_.back();
    free_slices_.pop_back();
  }
  slices_[it->second] = std::make_unique<Slice>();
  return it->second;
}

IntervalTable::Row& IntervalTable::add(size_t side, KeyId id, int64_t time, const columnar::Batch& batch,
                                       uint32_t row) {
  const uint32_t place = slice_of(side, time);
  Slice& slice = *slices_[place];
  const auto same = [&](const columnar::Batch& piece) { return piece.columns() == batch.columns(); };
  if (slice.pieces.empty() || !same(slice.pieces.back())) {
    slice.pieces.push_back(batch);
    const int64_t bytes = batch.memory_bytes();
    slice.bytes += bytes;
    bytes_ += bytes;
  }
  const int64_t before = slice.bytes;
  slice.rows.push_back({.time = time,
                        .older = kNoRow,
                        .key = slice.store(keys_[id].bytes),
                        .key_id = id,
                        .piece = static_cast<uint32_t>(slice.pieces.size() - 1),
                        .row = row});
  slice.bytes += static_cast<int64_t>(sizeof(Row));
  bytes_ += slice.bytes - before;
  Row& added = slice.rows.back();
  Ref* link = &keys_[id].sides[side].newest;
  while (*link != kNoRow && this->row(*link).time > time) link = &this->row(*link).older;
  added.older = *link;
  *link = (Ref{place} << 32) | (slice.rows.size() - 1);
  keys_[id].bytes = added.key;
  ++live_;
  return added;
}

void IntervalTable::name_key(KeyId id) {
  for (const Side& side : keys_[id].sides) {
    if (side.newest != kNoRow) keys_[id].bytes = row(side.newest).key;
  }
}

int64_t IntervalTable::oldest(size_t side, KeyId id) {
  int64_t time = kNoTimer;
  for (Ref ref = keys_[id].sides[side].newest; ref != kNoRow; ref = row(ref).older) time = row(ref).time;
  return time;
}

int64_t IntervalTable::memory_bytes() const {
  return bytes_ + static_cast<int64_t>(slots_.capacity() * sizeof(uint64_t) + keys_.capacity() * sizeof(Key));
}

}  // namespace strand::state
