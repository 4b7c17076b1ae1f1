#include "state/interval_table.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

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
  const Key fresh{hash, key, {}, 0};
  if (free_keys_.empty()) {
    keys_.push_back(fresh);
  } else {
    id = free_keys_.back();
    free_keys_.pop_back();
    keys_.change(id) = fresh;
  }
  slots_[at] = entry(hash, id);
  ++used_;
  return id;
}

void IntervalTable::grow() {
  std::vector<uint64_t> old(slots_.size() * 2);
  old.swap(slots_);
  for (const uint64_t slot : old) {
    if (slot == 0) continue;
    size_t at = home_of(slot);
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
    const size_t home = home_of(slots_[at]);
    if (((at - home) & mask()) < ((at - hole) & mask())) continue;
    slots_[hole] = slots_[at];
    hole = at;
  }
  slots_[hole] = 0;
  free_keys_.push_back(id);
  --used_;
}

void IntervalTable::linked(uint32_t slot, int64_t through, std::vector<Ref>& out) const {
  out.clear();
  const PagedArray<Row>& rows = slices_[slot]->rows;
  for (size_t i = 0; i < rows.size(); ++i) {
    const Row& row = rows[i];
    if (!row.dead && row.time <= through) out.push_back((Ref{slot} << 32) | i);
  }
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
  slices_[it->second] = std::make_unique<Slice>(memory_);
  return it->second;
}

IntervalTable::Row& IntervalTable::add(size_t side, KeyId id, int64_t time, const columnar::Batch& batch,
                                       uint32_t row) {
  const uint32_t place = slice_of(side, time);
  Slice& slice = *slices_[place];
  const bool same = slice.last_piece != nullptr && slice.last_piece->columns() == batch.columns();
  if (!same) add_piece(slice, batch);
  const int64_t before = slice.bytes;
  Ref newer = kNoRow;
  Ref older = keys_[id].sides[side].newest;
  for (; older != kNoRow && this->row(older).time > time; older = this->row(older).older) newer = older;
  Row& added = slice.rows.push_back({.time = time,
                                     .older = older,
                                     .key = slice.store(keys_[id].bytes),
                                     .key_id = id,
                                     .piece = slice.n_pieces - 1,
                                     .row = row});
  bytes_ += slice.bytes - before;
  link(side, id, newer, (Ref{place} << 32) | (slice.rows.size() - 1));
  keys_.change(id).bytes = added.key;
  ++live_;
  return added;
}

void IntervalTable::add_piece(Slice& slice, const columnar::Batch& batch) {
  if (slice.n_pieces % kBunch == 0) {
    slice.pieces.push_back(std::make_shared<std::vector<columnar::Batch>>());
    slice.pieces.back()->reserve(kBunch);
  }
  slice.last_piece = &slice.pieces.back()->emplace_back(batch);
  ++slice.n_pieces;
  slice.bytes += batch.memory_bytes();
  bytes_ += batch.memory_bytes();
}

void IntervalTable::link(size_t side, KeyId id, Ref newer, Ref older) {
  if (newer == kNoRow) {
    keys_.change(id).sides[side].newest = older;
  } else {
    change(newer).older = older;
  }
}

void IntervalTable::set_timer(size_t side, KeyId id, int64_t time) {
  Side& changed = keys_.change(id).sides[side];
  changed.timer = time;
  if (changed.newest != kNoRow) change(changed.newest);
}

void IntervalTable::name_key(KeyId id) {
  for (const Side& side : keys_[id].sides) {
    if (side.newest != kNoRow) keys_.change(id).bytes = row(side.newest).key;
  }
}

int64_t IntervalTable::oldest(size_t side, KeyId id) const {
  int64_t time = kNoTimer;
  for (Ref ref = keys_[id].sides[side].newest; ref != kNoRow; ref = row(ref).older) time = row(ref).time;
  return time;
}

int64_t IntervalTable::memory_bytes() const {
  return bytes_ + static_cast<int64_t>(slots_.capacity() * sizeof(uint64_t) + memory_.bytes());
}

std::vector<IntervalTable::Frozen> IntervalTable::freeze() {
  const auto frozen = memory_.freeze();
  const auto keys = std::make_shared<const FrozenRows>(keys_.all(frozen));
  std::vector<Frozen> all;
  for (size_t side = 0; side < by_time_.size(); ++side) {
    for (const auto& [index, slot] : by_time_[side]) {
      for (TablePart& part : slices_[slot]->rows.parts(frozen)) {
        all.push_back({side, std::move(part), slices_[slot]->pieces, keys});
      }
    }
  }
  return all;
}

int64_t IntervalTable::Frozen::timer_of(KeyId id) const {
  using Keys = PagedArray<Key>;
  const char* const at = keys->pages[id / Keys::kPerPage] + id % Keys::kPerPage * sizeof(Key) +
                         offsetof(Key, sides) + side * sizeof(Side) + offsetof(Side, timer);
  int64_t timer = 0;
  std::memcpy(&timer, keys->memory->read(at, sizeof timer).data(), sizeof timer);
  return timer;
}

}  // namespace strand::state
