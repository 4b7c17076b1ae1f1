#include "ops/changelog_aggregate.h"

#include <memory>

#include "ops/changing_group.h"
#include "ops/keys.h"
#include "ops/rows.h"

namespace strand::ops {

namespace {

using columnar::RowKind;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kChangelogAggregateVersion = 1;

class ChangelogAggregate : public Operator {
 public:
  explicit ChangelogAggregate(GroupOptions options)
      : options_(std::move(options)),
        results_(options_.aggregates, *options_.output, options_.keys.size(), options_.changes),
        reader_(options_.input, options_.keys) {}

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
      results_.encode(groups_[id], bytes);
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
        STRAND_OK(results_.decode(in, group));
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
  void put(ChangingGroups::Id id, ChangingGroup group) {
    groups_[id] = std::move(group);
    group_bytes_ += groups_[id].bytes();
  }

  void change(const Batch& batch, uint32_t row, uint64_t hash, std::string_view key) {
    const bool back = takes_back(batch.kind(row));
    const ChangingGroups::Id id = back ? groups_.find(hash, key) : groups_.find_or_add(hash, key);
    if (id == ChangingGroups::kNone || (back && groups_[id].rows == 0)) return;
    ChangingGroup& group = groups_[id];
    if (!group.touched) {
      group.touched = true;
      touched_.push_back(id);
      group_bytes_ -= group.bytes();
    }
    results_.change(batch, row, back, group);
  }

  /// One change for each key that the batch has touched, if its total has changed.
  Status emit_changes(Emitter& out) {
    RowEmitter rows(options_.output, out, Port::kMain);
    std::vector<std::string> results = results_of_touched();
    size_t result = 0;
    for (const ChangingGroups::Id id : touched_) {
      ChangingGroup& group = groups_[id];
      group.touched = false;
      if (group.rows == 0) {
        if (!group.emitted.empty()) STRAND_OK(emit(id, group.emitted, RowKind::kDelete, rows));
        groups_.erase(id);
        continue;
      }
      STRAND_OK(emit_change(id, group, std::move(results[result++]), rows));
      group_bytes_ += group.bytes();
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

  /// Of each touched group that has rows.
  std::vector<std::string> results_of_touched() {
    std::vector<const ChangingGroup*> groups;
    for (const ChangingGroups::Id id : touched_) {
      if (groups_[id].rows != 0) groups.push_back(&groups_[id]);
    }
    return results_.of(groups);
  }

  Status emit(ChangingGroups::Id id, const std::string& result, RowKind kind, RowEmitter& rows) {
    if (!options_.keys.empty()) reader_.append(groups_.key(id), rows.row());
    results_.append(result, rows.row());
    return rows.end_row(kind);
  }

  GroupOptions options_;
  GroupResults results_;
  OperatorContext* context_ = nullptr;
  ChangingGroups groups_;
  int64_t group_bytes_ = 0;
  obs::MemoryShare share_;

  // Scratch memory of one batch.
  Keys reader_;
  RowList row_list_;
  std::vector<ChangingGroups::Id> touched_;
};

}  // namespace

Result<OperatorPtr> make_changelog_aggregate(GroupOptions options) {
  STRAND_CHECK(!options.retention_column);
  return OperatorPtr(std::make_unique<ChangelogAggregate>(std::move(options)));
}

}  // namespace strand::ops
