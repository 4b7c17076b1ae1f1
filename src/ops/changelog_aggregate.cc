#include "ops/changelog_aggregate.h"

#include <memory>

#include "ops/keys.h"
#include "ops/row_bytes.h"
#include "ops/rows.h"
#include "state/change_accumulators.h"
#include "state/key_slots.h"

namespace strand::ops {

namespace {

using columnar::RowKind;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kChangelogAggregateVersion = 1;

struct ChangingGroup {
  int64_t rows = 0;
  state::ChangeAccumulators::State aggregates{};
  std::string emitted{};  // the aggregates as last emitted; empty if they were not
  bool touched = false;
};
using ChangingGroups = state::KeySlots<ChangingGroup>;

columnar::SchemaPtr aggregate_schema(const GroupOptions& options) {
  std::vector<columnar::Field> fields;
  for (size_t i = options.keys.size(); i < options.output->size(); ++i)
    fields.push_back((*options.output)[i]);
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

class ChangelogAggregate : public Operator {
 public:
  explicit ChangelogAggregate(GroupOptions options)
      : options_(std::move(options)),
        aggregates_(accumulator_specs(options_.aggregates), /*takes_back=*/true),
        reader_(options_.input, options_.keys),
        results_(options_.aggregates.size()),
        result_(aggregate_schema(options_)) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto rows = row_list_.of(batch);
    reader_.read(batch, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      change(batch, rows[i], reader_.hashes()[i], reader_.keys()[i]);
    }
    context_->ledger->add(Entry::kCounted, batch.rows());
    return emit_changes(out);
  }

  Status emit_held(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    Status status;
    groups_.for_each([&](ChangingGroups::Id id) {
      if (status.ok() && !groups_[id].emitted.empty())
        status = emit(id, groups_[id].emitted, RowKind::kInsert, rows);
    });
    STRAND_OK(std::move(status));
    return rows.flush();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter bytes;
    groups_.for_each([&](ChangingGroups::Id id) {
      groups_.encode_key(id, bytes);
      bytes.put(groups_[id].rows);
      aggregates_.encode(groups_[id].aggregates, bytes);
      bytes.put_string(groups_[id].emitted);
    });
    out.add("groups", kChangelogAggregateVersion, bytes.take());
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kChangelogAggregateVersion));
      ByteReader in(part.bytes());
      while (in.remaining() > 0) {
        STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
        ChangingGroup group;
        STRAND_TRY(group.rows, in.get<int64_t>());
        STRAND_OK(aggregates_.decode(in, group.aggregates));
        STRAND_TRY(group.emitted, in.get_string());
        if (context_->key_groups.contains(columnar::key_group(stored.hash, context_->max_parallelism)))
          put(groups_.find_or_add(stored.hash, stored.key), std::move(group));
      }
    }
    share_.set(state_bytes());
    return Status();
  }

  int64_t state_rows() const override { return groups_.size(); }
  int64_t state_bytes() const override { return groups_.memory_bytes() + group_bytes_; }

 private:
  static int64_t bytes_of(const ChangingGroup& group) {
    return state::ChangeAccumulators::memory_bytes(group.aggregates) +
           static_cast<int64_t>(group.emitted.capacity());
  }
  void put(ChangingGroups::Id id, ChangingGroup group) {
    groups_[id] = std::move(group);
    group_bytes_ += bytes_of(groups_[id]);
  }

  void change(const Batch& batch, uint32_t row, uint64_t hash, std::string_view key) {
    const bool back = takes_back(batch.kind(row));
    const ChangingGroups::Id id = back ? groups_.find(hash, key) : groups_.find_or_add(hash, key);
    if (id == ChangingGroups::kNone || (back && groups_[id].rows == 0)) return;
    ChangingGroup& group = groups_[id];
    if (!group.touched) {
      group.touched = true;
      touched_.push_back(id);
      group_bytes_ -= bytes_of(group);
    }
    group.rows += back ? -1 : 1;
    if (group.rows == 0) {
      group.aggregates = {};
    } else if (back) {
      aggregates_.take_back(batch, row, group.aggregates);
    } else {
      aggregates_.add(batch, row, group.aggregates);
    }
  }

  /// One change for each key that the batch has touched, if its total has changed.
  Status emit_changes(Emitter& out) {
    RowEmitter rows(options_.output, out, Port::kMain);
    const Batch results = results_of_touched();
    int64_t result = 0;
    for (const ChangingGroups::Id id : touched_) {
      ChangingGroup& group = groups_[id];
      group.touched = false;
      if (group.rows == 0) {
        if (!group.emitted.empty()) STRAND_OK(emit(id, group.emitted, RowKind::kDelete, rows));
        groups_.erase(id);
        continue;
      }
      // Of a group without aggregates a mark says that it was emitted.
      STRAND_OK(emit_change(id, group,
                            options_.aggregates.empty() ? "\1" : results_.encode(results, result++), rows));
      group_bytes_ += bytes_of(group);
    }
    touched_.clear();
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    share_.set(state_bytes());
    return Status();
  }

  Status emit_change(ChangingGroups::Id id, ChangingGroup& group, std::string result, RowEmitter& rows) {
    if (result == group.emitted) return Status();
    const bool fresh = group.emitted.empty();
    if (!fresh && options_.update_before) STRAND_OK(emit(id, group.emitted, RowKind::kUpdateBefore, rows));
    group.emitted = std::move(result);
    return emit(id, group.emitted, fresh ? RowKind::kInsert : RowKind::kUpdateAfter, rows);
  }

  /// A row for each touched group that has rows.
  Batch results_of_touched() {
    for (const ChangingGroups::Id id : touched_) {
      if (groups_[id].rows == 0 || options_.aggregates.empty()) continue;
      aggregates_.append_results(groups_[id].aggregates, result_, 0);
      result_.end_row();
    }
    return result_.finish();
  }

  Status emit(ChangingGroups::Id id, const std::string& result, RowKind kind, RowEmitter& rows) {
    if (!options_.keys.empty()) reader_.append(groups_.key(id), rows.row());
    if (!options_.aggregates.empty()) results_.decode(result, rows.row(), options_.keys.size());
    return rows.end_row(kind);
  }

  GroupOptions options_;
  state::ChangeAccumulators aggregates_;
  OperatorContext* context_ = nullptr;
  ChangingGroups groups_;
  int64_t group_bytes_ = 0;
  obs::MemoryShare share_;

  // Scratch memory of one batch.
  Keys reader_;
  RowList row_list_;
  RowBytes results_;
  columnar::BatchBuilder result_;
  std::vector<ChangingGroups::Id> touched_;
};

}  // namespace

Result<OperatorPtr> make_changelog_aggregate(GroupOptions options) {
  STRAND_CHECK(!options.retention_column);
  return OperatorPtr(std::make_unique<ChangelogAggregate>(std::move(options)));
}

}  // namespace strand::ops
