#include "state/id_table.h"

#include <algorithm>
#include <array>

#include "base/check.h"

namespace strand::state {

namespace {
constexpr size_t kGroup = 32;       // rows whose memory is fetched together
constexpr uint32_t kMaxPages = 32;  // of a segment: 1 MiB

/// How full segments are. Long texts are kept denser: their share of a slot must leave room for the text.
struct Fill {
  double after_rebuild;
  double rebuild_above;  // live keys, in a crowded segment; below, a purge is enough
  double crowded;
};
constexpr Fill kShort{0.58, 0.68, 0.82};
constexpr Fill kLong{0.70, 0.0, 0.90};
const Fill& fill_of(const IdSegment& segment) { return segment.has_long_texts() ? kLong : kShort; }

uint32_t pages_for(uint32_t keys, const Fill& fill) {
  const double slots = keys / fill.after_rebuild;
  return std::max(1u, static_cast<uint32_t>(slots / IdSegment::kSlotsPerPage + 0.999));
}

std::unique_ptr<IdSegment> make_segment(PagePool& pool, uint32_t keys, const Fill& fill) {
  return std::make_unique<IdSegment>(pool, pages_for(keys, fill), fill.crowded);
}
}  // namespace

IdTable::IdTable() {
  segments_.push_back(make_segment(pool_, 0, kShort));
  directory_.push_back(segments_.back().get());
}

void IdTable::insert(const IdBatch& batch, const IdJudge& judge, IdLog* log, std::span<uint8_t> fresh) {
  std::array<IdKey, kGroup> keys;
  for (size_t from = 0; from < batch.keys.size(); from += kGroup) {
    const size_t n = std::min(kGroup, batch.keys.size() - from);
    for (size_t i = 0; i < n; ++i) {
      keys[i] = make_id_key(batch.keys[from + i]);
      __builtin_prefetch(segment_of(keys[i].hash)->home(keys[i].hash), 1);
    }
    for (size_t i = 0; i < n; ++i) __builtin_prefetch(segment_of(keys[i].hash)->target(keys[i]), 1);
    for (size_t i = 0; i < n; ++i) {
      const uint16_t group = batch.groups[from + i];
      const uint64_t meta = IdMeta::pack(batch.expiries[from + i], group);
      const bool is_new = put(keys[i], meta, judge.of(group), judge.lowest, /*extend=*/false);
      if (is_new && log != nullptr) log->append(keys[i], meta);
      fresh[from + i] = is_new ? 1 : 0;
    }
  }
}

void IdTable::restore(std::span<const IdKey> keys, std::span<const uint64_t> metas) {
  for (const IdKey& key : keys) __builtin_prefetch(segment_of(key.hash)->home(key.hash), 1);
  for (const IdKey& key : keys) __builtin_prefetch(segment_of(key.hash)->target(key), 1);
  for (size_t i = 0; i < keys.size(); ++i)
    put(keys[i], metas[i], EventTime::min(), EventTime::min(), /*extend=*/true);
}

bool IdTable::put(const IdKey& key, uint64_t meta, EventTime judge, EventTime lowest, bool extend) {
  IdSegment* segment = segment_of(key.hash);
  while (segment->crowded()) {
    rebuild(key.hash, lowest);
    segment = segment_of(key.hash);
  }
  const uint32_t before = segment->used();
  const size_t big_before = segment->big_text_bytes();
  const bool fresh = segment->put(key, meta, judge, extend);
  size_ += segment->used() - before;
  big_text_bytes_ += static_cast<int64_t>(segment->big_text_bytes() - big_before);
  return fresh;
}

void IdTable::rebuild(uint64_t hash, EventTime lowest) {
  IdSegment* old = segment_of(hash);
  const auto at = std::ranges::find_if(segments_, [&](const auto& s) { return s.get() == old; });
  const auto index = static_cast<size_t>(at - segments_.begin());
  const Fill& fill = fill_of(*old);
  if (!old->has_long_texts()) {
    size_ -= old->used();
    old->purge(lowest);
    size_ += old->used();
    const double share = static_cast<double>(old->used()) / old->slots();
    if (share < fill.rebuild_above && share > fill.rebuild_above / 2) return;
  }
  const uint32_t live = old->live(lowest);
  if (pages_for(live, fill) > kMaxPages) return split(index, lowest);
  auto next = make_segment(pool_, live, fill);
  old->for_each([&](const IdKey& key, uint64_t meta) {
    if (!IdMeta::expired(meta, lowest)) next->add(key, meta);
  });
  std::ranges::replace(directory_, old, next.get());
  replace(index, std::move(next));
}

void IdTable::split(size_t index, EventTime lowest) {
  IdSegment* old = segments_[index].get();
  const auto first = static_cast<size_t>(std::ranges::find(directory_, old) - directory_.begin());
  auto span = static_cast<size_t>(std::ranges::count(directory_, old));
  size_t begin = first;
  if (span == 1) {
    STRAND_CHECK(depth_ < 40);
    std::vector<IdSegment*> doubled;
    for (IdSegment* segment : directory_) doubled.insert(doubled.end(), 2, segment);
    directory_ = std::move(doubled);
    ++depth_;
    span = 2;
    begin = first * 2;
  }
  const size_t middle = begin + span / 2;
  const auto half = [&](const IdKey& key) {
    return (key.hash >> (64 - depth_)) >= middle ? size_t{1} : size_t{0};
  };
  std::array<uint32_t, 2> counts{};
  old->for_each(
      [&](const IdKey& key, uint64_t meta) { counts[half(key)] += IdMeta::expired(meta, lowest) ? 0 : 1; });
  const Fill& fill = fill_of(*old);
  std::array<std::unique_ptr<IdSegment>, 2> halves = {make_segment(pool_, counts[0], fill),
                                                      make_segment(pool_, counts[1], fill)};
  old->for_each([&](const IdKey& key, uint64_t meta) {
    if (!IdMeta::expired(meta, lowest)) halves[half(key)]->add(key, meta);
  });
  for (size_t i = begin; i < begin + span; ++i) directory_[i] = halves[i >= middle ? 1 : 0].get();
  size_ += halves[1]->used();
  big_text_bytes_ += static_cast<int64_t>(halves[1]->big_text_bytes());
  segments_.push_back(std::move(halves[1]));
  replace(index, std::move(halves[0]));
}

void IdTable::replace(size_t index, std::unique_ptr<IdSegment> segment) {
  size_ += int64_t{segment->used()} - int64_t{segments_[index]->used()};
  big_text_bytes_ += static_cast<int64_t>(segment->big_text_bytes()) -
                     static_cast<int64_t>(segments_[index]->big_text_bytes());
  segments_[index] = std::move(segment);
}

int64_t IdTable::memory_bytes() const {
  return static_cast<int64_t>(pool_.bytes() + directory_.size() * sizeof(IdSegment*) +
                              segments_.size() * (sizeof(IdSegment) + kMaxPages * sizeof(char*))) +
         big_text_bytes_;
}

}  // namespace strand::state
