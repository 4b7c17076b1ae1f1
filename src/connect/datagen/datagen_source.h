// The `datagen` connector: made-up rows, the same in every run.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "connect/datagen/fields.h"
#include "connect/registry.h"
#include "flow/source.h"

namespace strand::connect::datagen {

struct DatagenOptions {
  int64_t rows_per_second = 10'000;
  std::optional<int64_t> rows;  // nothing: without end
  uint64_t seed = 0;
  std::vector<FieldPlan> fields;
};

Result<DatagenOptions> read_datagen_options(const TableContext& table);

/// One shard, `0`.
class DatagenFinder final : public flow::ShardFinder {
 public:
  explicit DatagenFinder(bool bounded) : bounded_(bounded) {}
  Result<std::vector<std::string>> find() override { return std::vector<std::string>{"0"}; }
  std::optional<Duration> interval() const override;

 private:
  bool bounded_;
};

/// Makes rows at a pace. Row `n` belongs to the instant start + n / rows-per-second and follows from the
/// options, n and that instant; the position holds n and the start. So a restored job gets the very same
/// rows, and after a pause it catches up, as from any source that keeps its rows.
class DatagenReader final : public flow::SourceReader {
 public:
  DatagenReader(columnar::SchemaPtr schema, DatagenOptions options);
  Status assign(const ShardState& shard) override;
  Result<flow::Polled> poll(WallTime now) override;
  size_t shards() const override { return assigned_ ? 1 : 0; }
  ShardState state(size_t shard) const override;
  bool ended(size_t shard) const override;

  static constexpr int64_t kRowsPerPoll = 4'096;

 private:
  int64_t time_of(int64_t row) const;

  DatagenOptions options_;
  columnar::BatchBuilder builder_;
  ShardState shard_;
  bool assigned_ = false;
  int64_t row_ = 0;
  std::optional<int64_t> start_ms_;
};

/// Adds `datagen`.
void add_datagen_connector(Registry& registry);

}  // namespace strand::connect::datagen
