// Aggregates that must keep the values of their rows.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "state/accumulators.h"
#include "state/value_counts.h"

namespace strand::state {

/// What one such aggregate knows of one key.
struct KeptValues {
  std::map<std::string, int64_t> times{};  // how often a value is there; below 0: taken back before it came
  std::vector<std::string> list{};         // in the order in which they came
  int64_t distinct = 0;                    // values that are there at least once
  std::string number{};                    // SUM and AVG of them
};

/// MIN, MAX, PERCENTILE, COLLECT, FIRST_VALUE, LAST_VALUE, ARRAY_AGG, LAG, and whatever is DISTINCT.
///
/// A value is the bytes of the argument of one row, in a form that each kind chooses. With `takes_back` every
/// value is kept, because the row that gave it may be taken back; without it MIN, MAX, FIRST_VALUE and
/// LAST_VALUE keep one. A value that is taken back before it came is remembered, and settles when it comes.
/// NULLs do not count, but in ARRAY_AGG and LAG with `nulls`. Of equal values in a list the oldest is taken
/// back.
///
/// Source: Flink FirstValueWithRetractAggFunction, ArrayAggFunction, PercentileAggFunction.
class KeptAggregate {
 public:
  KeptAggregate(const AccumulatorSpec& spec, bool takes_back);
  /// Whether an aggregate is of this kind; else Accumulators can do it.
  static bool keeps(const AccumulatorSpec& spec);

  /// Appends the value of a row; false: the row does not count.
  bool append_value(const columnar::Batch& batch, int64_t row, std::string& out) const;
  /// Adds a value (`sign` 1) or takes it back (-1). `counts`, where it is given, each time, has the values
  /// that are only counted, of which `kept` has none, or what must be in order.
  void change(std::string_view value, int64_t sign, KeptValues& kept, const CountsOf& counts = {}) const;
  /// Adds all that `from` keeps, behind what is there.
  void merge(const KeptValues& from, KeptValues& kept) const;
  void append_result(const KeptValues& kept, columnar::ColumnBuilder& out) const;

  /// `counted_elsewhere`: without what ValueCounts has; `restore` adds it to what was decoded.
  void encode(const KeptValues* kept, ByteWriter& out, bool counted_elsewhere = false) const;
  Status decode(ByteReader& in, KeptValues& kept) const;
  void restore(std::string_view value, int64_t times, KeptValues& kept) const;
  /// Gives `counts` the values that it would have, were they added with it.
  void move_values(KeptValues& kept, const CountsOf& counts) const;
  static int64_t memory_bytes(const KeptValues& kept);

 private:
  /// Whether ValueCounts has the values, if there is one, and whether they are needed in order all the same.
  bool counted() const { return !listed() && (takes_back_ || !extreme()); }
  bool ordered() const {
    return extreme() || spec_.op == AccumulatorOp::kPercentile || spec_.op == AccumulatorOp::kCollect;
  }
  bool count(std::string_view value, int64_t by, KeptValues& kept, const CountsOf& counts) const;
  bool extreme() const { return spec_.op == AccumulatorOp::kMin || spec_.op == AccumulatorOp::kMax; }
  bool listed() const {
    return spec_.op == AccumulatorOp::kFirst || spec_.op == AccumulatorOp::kLast ||
           spec_.op == AccumulatorOp::kArray || spec_.op == AccumulatorOp::kLag;
  }
  /// SUM, AVG: equal values have equal shares in a sum.
  bool summed() const { return spec_.op == AccumulatorOp::kSum || spec_.op == AccumulatorOp::kAvg; }
  void change_list(std::string_view value, int64_t sign, KeptValues& kept) const;
  void keep_best(std::string_view value, KeptValues& kept) const;
  std::vector<double> percentiles(const KeptValues& kept) const;

  AccumulatorSpec spec_;
  bool takes_back_;
  Accumulators number_;
};

}  // namespace strand::state
