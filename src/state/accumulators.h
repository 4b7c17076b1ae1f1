// Running aggregates of one key, as fixed-size bytes.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "columnar/batch.h"
#include "state/byte_arena.h"

namespace strand::state {

/// Those behind kAvg are for ChangeAccumulators alone.
enum class AccumulatorOp : uint8_t {
  kCountStar,
  kCount,
  kSum,
  kMin,
  kMax,
  kAvg,
  kFirst,
  kLast,
  kArray,
  kCollect,
  kPercentile,
  kLag,
};

/// One aggregate: what it does with a column, and the type of its result. What stands behind `result` is for
/// ChangeAccumulators alone (expr/aggregate.h says what it means).
struct AccumulatorSpec {
  AccumulatorOp op = AccumulatorOp::kCountStar;
  size_t column = 0;
  columnar::TypePtr input;  // null for kCountStar
  columnar::TypePtr result;
  bool distinct = false;
  bool nulls = false;
  std::optional<size_t> filter = {};
  std::vector<double> fractions = {};
  std::optional<size_t> weight = {};
  size_t offset = 0;
};

/// Reads some bytes of a snapshot that nobody wants.
Status skip_bytes(ByteReader& in, size_t size);

/// The accumulators of a list of aggregates, behind each other in a row of a KeyTable. Zeros are "no row
/// yet".
///
/// Null rules of SQL: COUNT(x), SUM, MIN, MAX and AVG pass over NULLs; all but COUNT are NULL without a
/// value. Sums of integers wrap, as in Flink; a DECIMAL sum that leaves 38 digits is NULL from then on. AVG
/// of integers truncates, of DECIMAL rounds half up. MIN and MAX of strings compare bytes and keep them in an
/// arena.
class Accumulators {
 public:
  explicit Accumulators(std::vector<AccumulatorSpec> specs);

  size_t bytes() const { return bytes_; }
  size_t size() const { return parts_.size(); }
  /// Whether any of them keeps bytes in an arena.
  bool keeps_bytes() const;

  /// Adds row rows[i] of a batch to accs[i].
  void update(const columnar::Batch& batch, std::span<const uint32_t> rows, std::span<char* const> accs,
              ByteArena& arena) const;
  // Rows that are added (`sign` 1) and taken back (-1), where all aggregates are COUNT, SUM or AVG. Whole and
  // decimal numbers come back exactly.
  void change(const columnar::Batch& batch, int64_t row, int64_t sign, char* acc) const;
  /// All rows that another accumulator holds.
  void change(const char* from, int64_t sign, char* acc) const;
  /// Appends the result of aggregate `i`.
  void append_result(size_t i, const char* acc, columnar::ColumnBuilder& out) const;
  /// The count of aggregate `i`, which must be a COUNT.
  int64_t count(size_t i, const char* acc) const;
  /// Adds one to the COUNT `i` of each.
  void bump(size_t i, std::span<char* const> accs) const;
  /// Whether all results of both are equal.
  bool equal(const char* a, const char* b) const;
  /// Adds what from[i] holds to to[i].
  void combine(std::span<const char* const> from, std::span<char* const> to, ByteArena& arena) const;
  /// Copies an accumulator; bytes go to `arena`.
  void copy(const char* from, char* to, ByteArena& arena) const;

  /// Partial results travel as columns: COUNT one, MIN and MAX one, SUM and AVG the sum and the number of
  /// values.
  std::vector<columnar::TypePtr> partial_types() const;
  void append_partial(const char* acc, std::span<columnar::ColumnBuilder* const> out) const;
  /// Adds the partial results in row rows[i] of a batch, whose first partial column is `first`, to accs[i].
  /// Rows of another Accumulators that begins with the same aggregates will do.
  void merge(const columnar::Batch& batch, size_t first, std::span<const uint32_t> rows,
             std::span<char* const> accs, ByteArena& arena) const;

  /// `memory`: what the arena was like when the accumulator was.
  void encode(const char* acc, FrozenPages& memory, ByteWriter& out) const;
  Status decode(ByteReader& in, char* acc, ByteArena& arena) const;
  /// Reads what `decode` would.
  Status skip(ByteReader& in) const;

 private:
  enum class Value : uint8_t { kNone, kInteger, kFloat, kDouble, kDecimal, kBytes };
  struct Part {
    AccumulatorSpec spec;
    Value value = Value::kNone;
    size_t offset = 0;
    size_t value_bytes = 0;
  };
  static Value value_of(const AccumulatorSpec& spec);
  static columnar::TypePtr partial_type(const Part& part);
  void update_part(const Part& part, const columnar::Column& column, std::span<const uint32_t> rows,
                   std::span<char* const> accs, ByteArena& arena, const columnar::Column* counts) const;

  std::vector<Part> parts_;
  size_t bytes_ = 0;
};

}  // namespace strand::state
