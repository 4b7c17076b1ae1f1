#include "ops/over_frame.h"

#include <algorithm>

#include "ops/rows.h"

namespace strand::ops {

namespace {

/// A row in a frame takes about twice its own place: its values stand in MIN and MAX, too.
int64_t bytes_of_kept(const OverRows::Row& row) {
  return static_cast<int64_t>(2 * sizeof row + row.share.size());
}

}  // namespace

OverFrames::OverFrames(const OverOptions& options)
    : range_(options.range),
      by_time_(options.time_column.has_value()),
      ranks_(options.ranks),
      preceding_(options.preceding),
      aggregates_(accumulator_specs(options.aggregates), options.preceding.has_value()) {}

void OverFrames::add(const columnar::Batch& batch, uint32_t row, int64_t time, OverKey& key) {
  if (!ranks_.empty()) rank(time, key);
  if (!preceding_) return aggregates_.add(batch, row, key.aggregates);
  leave(time, key);
  OverRows::Row& kept = key.frame.add(time);
  aggregates_.append_share(batch, row, kept.share);
  aggregates_.add(kept.share, key.aggregates);
  kept_bytes_ += bytes_of_kept(kept);
}

/// No two rows arrive at the same time.
void OverFrames::rank(int64_t time, OverKey& key) const {
  if (!key.place) key.place = std::make_unique<OverPlace>();
  OverPlace& place = *key.place;
  ++place.rows;
  if (by_time_ && place.times > 0 && place.time == time) return;
  place.first = place.rows;
  place.time = time;
  ++place.times;
}

void OverFrames::append_results(const OverKey& key, columnar::BatchBuilder& out, size_t first) const {
  aggregates_.append_results(key.aggregates, out, first);
  for (size_t i = 0; i < ranks_.size(); ++i) {
    out.column(first + aggregates_.size() + i)
        .append(ranks_[i] == expr::RankKind::kRowNumber ? key.place->rows
                : ranks_[i] == expr::RankKind::kRank    ? key.place->first
                                                        : key.place->times);
  }
}

/// Takes out what is not in the frame of a row of this time.
void OverFrames::leave(int64_t time, OverKey& key) {
  const auto left = [&] {
    if (!range_) return static_cast<int64_t>(key.frame.size()) > *preceding_;
    return key.frame.front().time < time &&
           EventTime{key.frame.front().time} + Duration{*preceding_} < EventTime{time};
  };
  while (!key.frame.empty() && left()) {
    aggregates_.take_back(key.frame.front().share, key.aggregates);
    kept_bytes_ -= bytes_of_kept(key.frame.front());
    key.frame.drop_front();
  }
}

void OverFrames::encode(const OverKey& key, ByteWriter& out) const {
  aggregates_.encode(key.aggregates, out);
  out.put(static_cast<uint32_t>(key.frame.size()));
  for (const OverRows::Row& kept : key.frame.all()) {
    out.put(kept.time);
    out.put_string(kept.share);
  }
  out.put(key.answered);
  out.put(static_cast<uint8_t>(key.forget_at ? 1 : 0));
  if (key.forget_at) out.put(*key.forget_at);
  if (ranks_.empty()) return;
  const OverPlace place = key.place ? *key.place : OverPlace{};
  for (const int64_t part : {place.rows, place.first, place.times, place.time}) out.put(part);
}

Status OverFrames::decode(ByteReader& in, OverKey& key) {
  STRAND_OK(aggregates_.decode(in, key.aggregates));
  STRAND_TRY(const uint32_t kept, in.get<uint32_t>());
  for (uint32_t i = 0; i < kept; ++i) {
    STRAND_TRY(const int64_t time, in.get<int64_t>());
    STRAND_TRY(const std::string_view share, in.get_string());
    OverRows::Row& row = key.frame.add(time);
    row.share = share;
    kept_bytes_ += bytes_of_kept(row);
  }
  STRAND_TRY(key.answered, in.get<int64_t>());
  STRAND_TRY(const uint8_t forgets, in.get<uint8_t>());
  if (forgets != 0) {
    STRAND_TRY(key.forget_at, in.get<int64_t>());
  }
  if (ranks_.empty()) return Status();
  key.place = std::make_unique<OverPlace>();
  for (int64_t* part : {&key.place->rows, &key.place->first, &key.place->times, &key.place->time}) {
    STRAND_TRY(*part, in.get<int64_t>());
  }
  return Status();
}

void OverFrames::forget(const OverKey& key) {
  for (const OverRows::Row& kept : key.frame.all()) kept_bytes_ -= bytes_of_kept(kept);
}

}  // namespace strand::ops
