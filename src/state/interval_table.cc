#include "state/interval_table.h"

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <string>

#include "base/check.h"

namespace strand::state {

namespace {

constexpr size_t kFirstBlock = 256;
constexpr size_t kBlock = size_t{16} << 10;

uint64_t entry(uint64_t hash, uint32_t id) { return (hash << 32) | (uint64_t{id} + 1); }

}  // namespace

bool IntervalTable::is_section(const SectionRef& ref) { return ref.name == "left" || ref.name == "right"; }

Status IntervalTable::spill_to(SpillSpace* space) {
  if (space == nullptr) return Status();
  STRAND_TRY(auto blocks, space->open_blocks());
  cold_ = std::make_unique<ColdRecords>(*space, std::move(blocks));
  return Status();
}

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
  slices_[it->second] = std::make_unique<Slice>(memory_, next_slice_++);
  return it->second;
}

namespace {

uint32_t last_piece(const IntervalTable::Bunches& bunches) {
  return static_cast<uint32_t>(bunches.size() - 1) * RowBunch::kBatchesMax + bunches.back()->count() - 1;
}

}  // namespace

IntervalTable::Row& IntervalTable::add(size_t side, KeyId id, int64_t time, const columnar::Batch& batch,
                                       uint32_t row) {
  const uint32_t place = slice_of(side, time);
  Slice& slice = *slices_[place];
  const bool same = slice.last_batch != nullptr && slice.last_batch->columns() == batch.columns();
  if (!same) add_batch(place, batch);
  const int64_t before = slice.bytes;
  Ref newer = kNoRow;
  Ref older = keys_[id].sides[side].newest;
  for (; older != kNoRow && this->row(older).time > time; older = this->row(older).older) newer = older;
  Row& added = slice.rows.push_back({.time = time,
                                     .older = older,
                                     .key = slice.store(keys_[id].bytes),
                                     .key_id = id,
                                     .piece = last_piece(slice.bunches),
                                     .row = row});
  bytes_ += slice.bytes - before;
  link(side, id, newer, (Ref{place} << 32) | (slice.rows.size() - 1));
  keys_.change(id).bytes = added.key;
  ++live_;
  return added;
}

void IntervalTable::add_batch(uint32_t place, const columnar::Batch& batch) {
  Slice& slice = *slices_[place];
  if (slice.bunches.empty() || slice.bunches.back()->is_full()) {
    slice.bunches.push_back(std::make_shared<RowBunch>(slice.rows.size()));
    if (cold_ != nullptr) warm_.push_back({place, slice.number, slice.bunches.size() - 1});
  }
  RowBunch& bunch = *slice.bunches.back();
  bunch.add(batch);
  slice.last_batch = bunch.in_memory() + bunch.count() - 1;
  const int64_t bytes = batch.memory_bytes();
  slice.row_bytes = static_cast<uint64_t>(bytes / std::max<int64_t>(1, batch.physical_rows()));
  batch_bytes_ += bytes;
}

void IntervalTable::forget_slice(uint32_t place) {
  for (const auto& bunch : slices_[place]->bunches) {
    if (bunch->in_memory() != nullptr) batch_bytes_ -= bunch->bytes();
  }
  bytes_ -= slices_[place]->bytes;
  if (cold_ != nullptr) gone_ += slices_[place]->bunches.size();
  slices_[place].reset();
  free_slices_.push_back(place);
  if (gone_ <= warm_.size() / 2) return;
  std::erase_if(warm_, [this](const Warm& warm) { return !is_there(warm); });
  gone_ = 0;
}

Status IntervalTable::make_room() {
  if (cold_ == nullptr) return Status();
  STRAND_OK(cold_->intact());
  cold_->let_go();
  for (; !warm_.empty(); warm_.pop_front()) {
    cold_->set_beside(memory_bytes() - batch_bytes_ - cold_->bytes());
    if (batch_bytes_ <= cold_->end_most()) break;
    const Warm& oldest = warm_.front();
    if (is_there(oldest)) STRAND_OK(spill(*slices_[oldest.slice], oldest.bunch));
  }
  return Status();
}

Status IntervalTable::spill(Slice& slice, size_t number) {
  RowBunch& bunch = *slice.bunches[number];
  const bool is_last = number + 1 == slice.bunches.size();
  const size_t until = is_last ? slice.rows.size() : slice.bunches[number + 1]->first_row();
  std::vector<RowBunch::Place> rows;
  rows.reserve(until - bunch.first_row());
  for (size_t i = bunch.first_row(); i < until; ++i)
    rows.push_back({slice.rows[i].piece % RowBunch::kBatchesMax, slice.rows[i].row});
  STRAND_OK(bunch.spill(cold_->blocks(), rows, cold_end_));
  cold_end_ += bunch.end_of(until - 1);
  if (is_last) slice.last_batch = nullptr;
  batch_bytes_ -= bunch.bytes();
  slice.bytes += bunch.index_bytes();
  bytes_ += bunch.index_bytes();
  return Status();
}

std::string_view IntervalTable::cold_row(Ref ref) const {
  const Slice& slice = *slices_[ref >> 32];
  const auto number = static_cast<uint32_t>(ref);
  const RowBunch& bunch = *slice.bunches[slice.rows[number].piece / RowBunch::kBatchesMax];
  const uint32_t from = bunch.begin_of(number);
  const uint32_t until = bunch.end_of(number);
  const uint64_t place = bunch.base() + from;
  const char* bytes = cold_->find(place);
  if (bytes == nullptr)
    bytes = cold_->read(place, bunch.cold(), from, until, [&](const char*) { return until - from; });
  constexpr size_t kNothingBytes = 4096;  // of zeros: more than there are columns
  if (bytes == ColdRecords::nothing()) return {bytes + sizeof(uint64_t), kNothingBytes};
  return {bytes, until - from};
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
  return bytes_ + batch_bytes_ + (cold_ == nullptr ? 0 : cold_->bytes()) +
         static_cast<int64_t>(slots_.capacity() * sizeof(uint64_t) + memory_.bytes());
}

/// Whoever writes a part holds the bytes of its rows. Once chosen, as many for good: what is written of a
/// part is known by its first page.
size_t IntervalTable::pages_of_parts(Slice& slice) const {
  if (cold_ == nullptr) return TablePart::kPages;
  if (slice.part_pages == 0) {
    const uint64_t page_bytes = PagedArray<Row>::kPerPage * std::max<uint64_t>(1, slice.row_bytes);
    slice.part_pages = std::clamp<size_t>(cold_->space().section_bytes() / page_bytes, 1, TablePart::kPages);
  }
  return slice.part_pages;
}

std::vector<IntervalTable::Frozen> IntervalTable::freeze() {
  const auto frozen = memory_.freeze();
  const auto keys = std::make_shared<const FrozenRows>(keys_.all(frozen));
  std::vector<Frozen> all;
  for (size_t side = 0; side < by_time_.size(); ++side) {
    for (const auto& [index, slot] : by_time_[side]) {
      Slice& slice = *slices_[slot];
      const auto bunches = std::make_shared<const Bunches>(slice.bunches);
      for (TablePart& part : slice.rows.parts(frozen, pages_of_parts(slice))) {
        const uint64_t bytes =
            cold_ == nullptr ? part.rows.bytes() : static_cast<uint64_t>(part.rows.rows()) * slice.row_bytes;
        all.push_back({side, std::move(part), bytes, bunches, keys});
      }
    }
  }
  return all;
}

Status IntervalTable::Reader::reach(const Row& row, size_t number) {
  const RowBunch& wanted = *bunches[row.piece / RowBunch::kBatchesMax];
  if (bunch != &wanted) {
    bunch = &wanted;
    batches = wanted.batches();
    if (batches == nullptr) {
      STRAND_TRY(read, wanted.read());
    }
  }
  if (batches != nullptr) {
    batch = batches->data() + row.piece % RowBunch::kBatchesMax;
  } else {
    batch = nullptr;
    bytes = std::string_view(read).substr(wanted.begin_of(number),
                                          wanted.end_of(number) - wanted.begin_of(number));
  }
  return Status();
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
