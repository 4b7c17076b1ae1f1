#include "ops/window_slices.h"

#include <algorithm>
#include <utility>

namespace strand::ops {

namespace {

/// A part of a slice.
struct SlicePart {
  int64_t end;
  state::FrozenRows rows;
};

/// Whether totals emitted early are there, the number of slices, and for each its end and rows.
std::string encode(const state::AggregateLayout& layout, const std::vector<SlicePart>& parts) {
  ByteWriter bytes;
  bytes.put(static_cast<uint8_t>(layout.emitted));
  bytes.put(static_cast<uint64_t>(parts.size()));
  for (const SlicePart& part : parts) {
    bytes.put(part.end);
    state::AggregateTable::encode(layout, part.rows, bytes);
  }
  return bytes.take();
}

}  // namespace

std::unique_ptr<state::AggregateTable> WindowSlices::take_table() {
  if (spare_.empty()) return std::make_unique<state::AggregateTable>(memory_, layout_);
  auto table = std::move(spare_.back());
  spare_.pop_back();
  return table;
}

void WindowSlices::give_table(std::unique_ptr<state::AggregateTable> table) {
  table->clear();
  if (spare_.size() < kSpareTables) spare_.push_back(std::move(table));
}

WindowSlices::Slice& WindowSlices::open(const WindowBounds& bounds) {
  Slice& slice = slices_[bounds.end];
  if (slice.table != nullptr) return slice;
  slice.bounds = bounds;
  slice.table = take_table();
  return slice;
}

Status WindowSlices::close(int64_t end) {
  const auto found = slices_.find(end);
  give_table(std::move(found->second.table));
  slices_.erase(found);
  return spill_ == nullptr ? Status() : spill_->drop(end);
}

state::AggregateTable& WindowSlices::merged_table() {
  if (merged_.table == nullptr) merged_.table = std::make_unique<state::AggregateTable>(memory_, layout_);
  return *merged_.table;
}

Status WindowSlices::hand_over(Slice& slice) {
  if (slice.table->size() == 0) return Status();
  STRAND_OK(spill_->put(slice.bounds.end, memory_, *slice.table));
  give_table(std::exchange(slice.table, nullptr));
  slice.table = take_table();
  return Status();
}

WindowSlices::Slice* WindowSlices::largest() {
  Slice* found = nullptr;
  for (auto& [end, slice] : slices_) {
    if (slice.table->size() > (found == nullptr ? 0 : found->table->size())) found = &slice;
  }
  return found;
}

bool WindowSlices::any_spilled(int64_t after, int64_t until) const {
  const auto to = slices_.upper_bound(until);
  return std::any_of(slices_.upper_bound(after), to, [&](const auto& entry) { return spilled(entry.first); });
}

Status WindowSlices::add_rows(Slice& slice, ByteReader& in, KeyGroupRange groups, int32_t max_parallelism) {
  state::AggregateTable& some = merged_table();
  some.clear();
  STRAND_OK(some.decode(in, groups, max_parallelism, /*emitted_too=*/false));
  slice.table->add(some);
  some.clear();
  return Status();
}

const WindowSlices::Slice* WindowSlices::merged(int64_t after, int64_t until) {
  const auto from = slices_.upper_bound(after);
  const auto to = slices_.upper_bound(until);
  if (from == to) return nullptr;
  if (std::next(from) == to) return &from->second;
  merged_table().clear();
  merged_.held = 0;
  for (auto at = from; at != to; ++at) {
    merged_.table->add(*at->second.table);
    merged_.held += at->second.held;
  }
  return &merged_;
}

const WindowSlices::Slice* WindowSlices::fold(const WindowBounds& base, int64_t until) {
  auto from = slices_.lower_bound(base.end);
  const auto to = slices_.upper_bound(until);
  if (from == to) return nullptr;
  if (from->first != base.end) {  // the first slice with rows becomes the base
    auto moved = slices_.extract(from++);
    moved.key() = base.end;
    moved.mapped().bounds = base;
    from = slices_.insert(std::move(moved)).position;
  }
  Slice& sum = (from++)->second;
  while (from != to) {
    sum.table->add(*from->second.table);
    sum.held += from->second.held;
    give_table(std::move(from->second.table));
    from = slices_.erase(from);
  }
  return &sum;
}

void WindowSlices::snapshot(Epoch epoch, int32_t version, state::SnapshotBuilder& out) {
  if (merged_.table != nullptr) merged_.table->clear();
  const auto frozen = memory_.freeze();
  sections_.begin(epoch, memory_.freezes());
  std::vector<SlicePart> small;
  for (const auto& [end, slice] : slices_) {
    for (state::TablePart& part : slice.table->parts(frozen)) {
      if (part.rows.bytes() < state::PartSections::kOwnFileBytes) {
        small.push_back({end, std::move(part.rows)});
        continue;
      }
      sections_.add(out, "windows", version, end, part,
                    [layout = layout_, parts = std::vector<SlicePart>{{end, part.rows}}] {
                      return encode(layout, parts);
                    });
    }
  }
  sections_.add_small(out, "windows", version,
                      [layout = layout_, parts = std::move(small)] { return encode(layout, parts); });
  sections_.end();
  if (spill_ != nullptr) spill_->snapshot(out);
}

int64_t WindowSlices::held() const {
  int64_t n = 0;
  for (const auto& [end, slice] : slices_) n += slice.held;
  return n;
}

int64_t WindowSlices::held(int64_t after, int64_t until) const {
  int64_t n = 0;
  const auto to = slices_.upper_bound(until);
  for (auto at = slices_.upper_bound(after); at != to; ++at) n += at->second.held;
  return n;
}

int64_t WindowSlices::rows() const {
  int64_t n = 0;
  for (const auto& [end, slice] : slices_) n += slice.table->size();
  return n + (spill_ == nullptr ? 0 : spill_->rows());
}

int64_t WindowSlices::used_bytes() const {
  size_t bytes = memory_.used_bytes();
  for (const auto& [end, slice] : slices_) bytes += slice.table->own_bytes();
  return static_cast<int64_t>(bytes);
}

int64_t WindowSlices::memory_bytes() const {
  size_t bytes = memory_.bytes();
  for (const auto& [end, slice] : slices_) bytes += slice.table->own_bytes();
  for (const auto& table : spare_) bytes += table->own_bytes();
  if (merged_.table != nullptr) bytes += merged_.table->own_bytes();
  return static_cast<int64_t>(bytes);
}

}  // namespace strand::ops
