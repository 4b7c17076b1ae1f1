// What operators do with the rows of a batch again and again.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "columnar/batch.h"
#include "expr/aggregate.h"
#include "flow/operator.h"
#include "state/accumulators.h"

namespace strand::ops {

/// The positions of the rows of a batch that count.
class RowList {
 public:
  std::span<const uint32_t> of(const columnar::Batch& batch);

 private:
  std::vector<uint32_t> all_;
};

/// The columns of a batch that are event times, as milliseconds. NULL is an error (STRAND-3002) or `missing`.
class Times {
 public:
  /// Of `rows`; one entry for each.
  Result<std::span<const int64_t>> read(const columnar::Batch& batch, size_t column,
                                        std::span<const uint32_t> rows,
                                        std::optional<int64_t> missing = std::nullopt);

 private:
  std::vector<int64_t> millis_;
};

/// Emits rows as batches of at most kMax rows.
class RowEmitter {
 public:
  static constexpr int64_t kMax = 4096;
  RowEmitter(columnar::SchemaPtr schema, flow::Emitter& out, Port port)
      : builder_(std::move(schema)), out_(out), port_(port) {}
  columnar::BatchBuilder& row() { return builder_; }
  Status end_row(columnar::RowKind kind = columnar::RowKind::kInsert);
  Status flush();
  int64_t rows() const { return emitted_ + builder_.rows(); }

 private:
  columnar::BatchBuilder builder_;
  flow::Emitter& out_;
  Port port_;
  int64_t emitted_ = 0;
};

/// Those of `keys` that are not in `nulls_equal`: a NULL in one of them has no partner in a join.
inline std::vector<size_t> strict_keys(const std::vector<size_t>& keys,
                                       const std::vector<size_t>& nulls_equal) {
  std::vector<size_t> strict;
  for (const size_t key : keys) {
    if (std::find(nulls_equal.begin(), nulls_equal.end(), key) == nulls_equal.end()) strict.push_back(key);
  }
  return strict;
}

/// When state says what a judge has reached (replay.md T3).
inline bool reached(EventTime instant, EventTime judge) { return instant <= judge; }

/// Whether the key group of a key with this hash belongs to the subtask.
inline bool owns(const flow::OperatorContext& context, uint64_t hash) {
  return context.key_groups.contains(columnar::key_group(hash, context.max_parallelism));
}

/// Books `rows` of a batch as late and emits them unchanged, if anybody reads them.
Status emit_late(const columnar::Batch& batch, const std::vector<uint32_t>& rows,
                 const flow::OperatorContext& context, flow::Emitter& out);

/// The highest judge of any key group: beyond it nothing is late.
inline EventTime highest_judge(const flow::OperatorContext& context) {
  return std::max(context.watermark, context.floor.highest());
}

std::vector<state::AccumulatorSpec> accumulator_specs(const std::vector<expr::Aggregate>& aggregates);

/// Only +I may reach an operator that cannot take values back.
Status require_inserts(const columnar::Batch& batch, const std::string& operator_id);

}  // namespace strand::ops
