// The aggregates of one key over rows that may be taken back, and what was last emitted of them.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "ops/operators.h"
#include "ops/row_bytes.h"
#include "state/change_accumulators.h"
#include "state/key_slots.h"

namespace strand::ops {

struct ChangingGroup {
  int64_t rows = 0;
  state::ChangeAccumulators::State aggregates{};
  std::string emitted{};  // the aggregates as last emitted; empty if they were not
  bool touched = false;
  bool used = false;                    // since groups left memory
  WallTime expiry = WallTime::never();  // until when the key is kept
  // Where its values and itself are logged rows.
  uint32_t first_value = ~uint32_t{0};
  uint32_t logged = ~uint32_t{0};

  /// Beside sizeof.
  int64_t bytes() const {
    return state::ChangeAccumulators::memory_bytes(aggregates) + static_cast<int64_t>(emitted.capacity());
  }
};
using ChangingGroups = state::KeySlots<ChangingGroup>;

/// Changes groups, and turns their aggregates into columns of the output. Belongs to one operator.
class GroupResults {
 public:
  /// The aggregates are the columns of `output` from `first` on.
  GroupResults(const std::vector<Aggregate>& aggregates, const columnar::Schema& output, size_t first,
               bool takes_back);

  /// Adds a row to the group, or takes it back. A group without rows is as new; nothing is taken from it.
  /// `counts`: see state::KeptAggregate.
  void change(const columnar::Batch& batch, uint32_t row, bool back, ChangingGroup& group,
              state::ValueCounts* counts = nullptr) const;
  /// Adds all rows of another group.
  void merge(const ChangingGroup& from, ChangingGroup& group) const;
  /// The aggregates of each group as bytes, never empty.
  std::vector<std::string> of(const std::vector<const ChangingGroup*>& groups);
  void append(const std::string& result, columnar::BatchBuilder& out) const;

  void encode(const ChangingGroup& group, ByteWriter& out, bool counted_elsewhere = false) const;
  Status decode(ByteReader& in, ChangingGroup& group) const;
  Status restore(size_t aggregate, std::string_view value, int64_t times, ChangingGroup& group) const {
    return aggregates_.restore(aggregate, value, times, group.aggregates);
  }
  void move_values(ChangingGroup& group, state::ValueCounts& counts) const {
    aggregates_.move_values(group.aggregates, counts);
  }

 private:
  state::ChangeAccumulators aggregates_;
  size_t first_;
  RowBytes bytes_;
  columnar::BatchBuilder result_;
};

}  // namespace strand::ops
