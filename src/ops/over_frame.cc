#include "ops/over_frame.h"

#include <algorithm>

#include "ops/rows.h"

namespace strand::ops {

namespace {

/// The columns that the aggregates read, each once.
std::vector<size_t> argument_columns(const std::vector<Aggregate>& aggregates) {
  std::vector<size_t> columns;
  for (const Aggregate& aggregate : aggregates) {
    if (aggregate.kind != Aggregate::Kind::kCountStar) columns.push_back(aggregate.column);
  }
  std::ranges::sort(columns);
  columns.erase(std::unique(columns.begin(), columns.end()), columns.end());
  return columns;
}

/// A row in a frame takes about twice its own place: its values stand in MIN and MAX, too.
int64_t bytes_of_kept(const OverRows::Row& row) {
  return static_cast<int64_t>(2 * sizeof row + row.arguments.size());
}

columnar::SchemaPtr schema_of(const columnar::Schema& input, const std::vector<size_t>& columns) {
  std::vector<columnar::Field> fields;
  for (const size_t column : columns) fields.push_back(input[column]);
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

std::vector<state::AccumulatorSpec> over_columns(const std::vector<Aggregate>& aggregates,
                                                 const std::vector<size_t>& columns) {
  std::vector<Aggregate> moved = aggregates;
  for (Aggregate& aggregate : moved) {
    aggregate.column =
        static_cast<size_t>(std::ranges::lower_bound(columns, aggregate.column) - columns.begin());
  }
  return accumulator_specs(moved);
}

}  // namespace

OverFrames::OverFrames(const OverOptions& options)
    : range_(options.range),
      preceding_(options.preceding),
      argument_columns_(argument_columns(options.aggregates)),
      aggregates_(accumulator_specs(options.aggregates), options.preceding.has_value()),
      arguments_(over_columns(options.aggregates, argument_columns_), options.preceding.has_value()),
      kept_row_(schema_of(*options.input, argument_columns_)) {}

Status OverFrames::add(const columnar::Batch& batch, uint32_t row, int64_t time, OverKey& key) {
  leave(time, key);
  aggregates_.add(batch, row, key.aggregates);
  if (!preceding_) return Status();
  OverRows::Row& kept = key.frame.add(time);
  columnar::encode_key(batch, argument_columns_, row, kept.arguments);
  kept_bytes_ += bytes_of_kept(kept);
  return Status();
}

/// Takes out what is not in the frame of a row of this time.
void OverFrames::leave(int64_t time, OverKey& key) {
  if (!preceding_) return;
  const auto left = [&] {
    if (!range_) return static_cast<int64_t>(key.frame.size()) > *preceding_;
    return key.frame.front().time < time &&
           EventTime{key.frame.front().time} + Duration{*preceding_} < EventTime{time};
  };
  while (!key.frame.empty() && left()) {
    take_back(key.frame.front(), key);
    kept_bytes_ -= bytes_of_kept(key.frame.front());
    key.frame.drop_front();
  }
}

void OverFrames::take_back(const OverRows::Row& kept, OverKey& key) {
  std::vector<columnar::ColumnBuilder*> columns;
  for (size_t c = 0; c < argument_columns_.size(); ++c) columns.push_back(&kept_row_.column(c));
  columnar::decode_key(kept.arguments, columns);
  kept_row_.end_row();
  arguments_.take_back(kept_row_.finish(), 0, key.aggregates);
}

void OverFrames::encode(const OverKey& key, ByteWriter& out) const {
  aggregates_.encode(key.aggregates, out);
  out.put(static_cast<uint32_t>(key.frame.size()));
  for (const OverRows::Row& kept : key.frame.all()) {
    out.put(kept.time);
    out.put_string(kept.arguments);
  }
  out.put(key.answered);
  out.put(static_cast<uint8_t>(key.forget_at ? 1 : 0));
  if (key.forget_at) out.put(*key.forget_at);
}

Status OverFrames::decode(ByteReader& in, OverKey& key) {
  STRAND_OK(aggregates_.decode(in, key.aggregates));
  STRAND_TRY(const uint32_t kept, in.get<uint32_t>());
  for (uint32_t i = 0; i < kept; ++i) {
    STRAND_TRY(const int64_t time, in.get<int64_t>());
    STRAND_TRY(const std::string_view arguments, in.get_string());
    OverRows::Row& row = key.frame.add(time);
    row.arguments = arguments;
    kept_bytes_ += bytes_of_kept(row);
  }
  STRAND_TRY(key.answered, in.get<int64_t>());
  STRAND_TRY(const uint8_t forgets, in.get<uint8_t>());
  if (forgets == 0) return Status();
  STRAND_TRY(key.forget_at, in.get<int64_t>());
  return Status();
}

void OverFrames::forget(const OverKey& key) {
  for (const OverRows::Row& kept : key.frame.all()) kept_bytes_ -= bytes_of_kept(kept);
}

}  // namespace strand::ops
