#include "ops/changing_group.h"

#include "ops/rows.h"

namespace strand::ops {

namespace {

/// Stands for the result of a group without aggregates.
constexpr const char* kNoAggregates = "\1";

columnar::SchemaPtr aggregate_columns(const columnar::Schema& output, size_t first) {
  std::vector<columnar::Field> fields;
  for (size_t i = first; i < output.size(); ++i) fields.push_back(output[i]);
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

}  // namespace

GroupResults::GroupResults(const std::vector<Aggregate>& aggregates, const columnar::Schema& output,
                           size_t first, bool takes_back)
    : aggregates_(accumulator_specs(aggregates), takes_back),
      first_(first),
      bytes_(aggregates.size()),
      result_(aggregate_columns(output, first)) {}

void GroupResults::change(const columnar::Batch& batch, uint32_t row, bool back, ChangingGroup& group,
                          state::ValueCounts* counts) const {
  if (back && group.rows == 0) return;
  group.rows += back ? -1 : 1;
  if (group.rows == 0) {
    group.aggregates = {};
    if (counts != nullptr) counts->clear();
  } else if (back) {
    aggregates_.take_back(batch, row, group.aggregates, counts);
  } else {
    aggregates_.add(batch, row, group.aggregates, counts);
  }
}

void GroupResults::merge(const ChangingGroup& from, ChangingGroup& group) const {
  group.rows += from.rows;
  aggregates_.merge(from.aggregates, group.aggregates);
}

std::vector<std::string> GroupResults::of(const std::vector<const ChangingGroup*>& groups) {
  if (aggregates_.size() == 0) return std::vector<std::string>(groups.size(), kNoAggregates);
  for (const ChangingGroup* group : groups) {
    aggregates_.append_results(group->aggregates, result_, 0);
    result_.end_row();
  }
  const columnar::Batch batch = result_.finish();
  std::vector<std::string> results;
  for (int64_t row = 0; row < batch.rows(); ++row) results.push_back(bytes_.encode(batch, row));
  return results;
}

void GroupResults::append(const std::string& result, columnar::BatchBuilder& out) const {
  if (aggregates_.size() != 0) bytes_.decode(result, out, first_);
}

void GroupResults::encode(const ChangingGroup& group, ByteWriter& out, bool counted_elsewhere) const {
  out.put(group.rows);
  aggregates_.encode(group.aggregates, out, counted_elsewhere);
  out.put_string(group.emitted);
}

Status GroupResults::decode(ByteReader& in, ChangingGroup& group) const {
  STRAND_TRY(group.rows, in.get<int64_t>());
  STRAND_OK(aggregates_.decode(in, group.aggregates));
  STRAND_TRY(group.emitted, in.get_string());
  return Status();
}

}  // namespace strand::ops
