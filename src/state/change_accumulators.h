// Running aggregates of one key that can take rows back.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "state/kept_values.h"

namespace strand::state {

/// The aggregates of an operator whose rows are taken back later: they leave a frame, or a changelog retracts
/// them. COUNT, SUM and AVG are counted down; the others keep values (state/kept_values.h). With `takes_back`
/// false no row is ever taken back, and fewer of them are kept.
///
/// A value that was taken back more often than added (its row was never seen) does not count, and settles
/// when the row comes. Results have the rules of Accumulators.
class ChangeAccumulators {
 public:
  ChangeAccumulators(const std::vector<AccumulatorSpec>& specs, bool takes_back);

  /// Of one key. A new one has seen no row.
  struct State {
    std::string numbers;             // COUNT, SUM, AVG
    std::vector<KeptValues> kept{};  // the others
  };

  /// `counts`: see KeptAggregate.
  void add(const columnar::Batch& batch, int64_t row, State& state, ValueCounts* counts = nullptr) const {
    change(batch, row, 1, state, counts);
  }
  void take_back(const columnar::Batch& batch, int64_t row, State& state,
                 ValueCounts* counts = nullptr) const {
    change(batch, row, -1, state, counts);
  }
  /// Appends what a row adds, so that it can be taken back when the row itself is no longer there.
  void append_share(const columnar::Batch& batch, int64_t row, std::string& out) const;
  void add(std::string_view share, State& state) const { change(share, 1, state); }
  void take_back(std::string_view share, State& state) const { change(share, -1, state); }
  /// Adds all rows of another state, which came later.
  void merge(const State& from, State& state) const;
  /// Appends the results to the columns of `out` from `first` on.
  void append_results(const State& state, columnar::BatchBuilder& out, size_t first) const;
  size_t size() const { return places_.size(); }

  void encode(const State& state, ByteWriter& out, bool counted_elsewhere = false) const;
  Status decode(ByteReader& in, State& state) const;
  /// A value that ValueCounts has.
  Status restore(size_t aggregate, std::string_view value, int64_t times, State& state) const;
  /// Of a state that was written with all its values: gives `counts` those that it has from now on.
  void move_values(State& state, ValueCounts& counts) const;
  /// How many different values are kept.
  static int64_t values(const State& state);
  /// Beside sizeof(State).
  static int64_t memory_bytes(const State& state);

 private:
  struct Place {
    bool kept = false;
    size_t index = 0;  // in `numbers` or `kept`
  };
  void change(const columnar::Batch& batch, int64_t row, int64_t sign, State& state,
              ValueCounts* counts) const;
  void change(std::string_view share, int64_t sign, State& state) const;
  void prepare(int64_t sign, State& state) const;

  std::vector<Place> places_;
  std::vector<KeptAggregate> kept_;
  Accumulators numbers_;
  bool takes_back_;
};

}  // namespace strand::state
