#include "ops/changelog_aggregate.h"

#include <memory>

#include "ops/kept_groups.h"
#include "ops/keys.h"
#include "ops/rows.h"

namespace strand::ops {

namespace {

using columnar::RowKind;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kChangelogAggregateVersion = 2;

class ChangelogAggregate : public Operator {
 public:
  explicit ChangelogAggregate(GroupOptions options)
      : options_(std::move(options)),
        results_(options_.aggregates, *options_.output, options_.keys.size(), options_.changes),
        groups_(results_, kChangelogAggregateVersion),
        reader_(options_.input, options_.keys) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return groups_.spill_to(context.spill);
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto rows = row_list_.of(batch);
    reader_.read(batch, rows);
    if (options_.ttl) STRAND_OK(groups_.forget(context_->now));
    for (size_t i = 0; i < rows.size(); ++i) {
      STRAND_OK(change(batch, rows[i], reader_.hashes()[i], reader_.keys()[i]));
      STRAND_OK(groups_.let_go());
    }
    context_->ledger->add(Entry::kCounted, batch.rows());
    return emit_changes(out);
  }

  Status emit_held(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    STRAND_OK(groups_.for_each([&](std::string_view key, const ChangingGroup& group) {
      if (group.emitted.empty() || forgotten(group)) return Status();
      return emit(key, group.emitted, RowKind::kInsert, rows);
    }));
    return rows.flush();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    groups_.snapshot(out);
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    groups_.written(epoch, refs);
  }
  Status restore(const std::vector<state::Section>& parts) override {
    STRAND_OK(groups_.restore(parts, *context_));
    share_.set(state_bytes());
    return Status();
  }

  bool spills() const override { return true; }
  int64_t state_rows() const override { return groups_.size(); }
  int64_t state_bytes() const override { return groups_.memory_bytes(); }

 private:
  using Id = KeptGroups::Id;

  bool forgotten(const ChangingGroup& group) const { return group.expiry <= context_->now; }

  Status change(const Batch& batch, uint32_t row, uint64_t hash, std::string_view key) {
    const bool back = takes_back(batch.kind(row));
    STRAND_TRY(const Id id, groups_.find(hash, key, !back));
    if (id == KeptGroups::kNone) return Status();
    ChangingGroup& group = groups_[id];
    if (forgotten(group)) groups_.begin_anew(id);
    if (back && group.rows == 0) return Status();
    if (groups_.touch(group)) touched_.push_back(id);
    if (options_.ttl) group.expiry = context_->now + *options_.ttl;
    results_.change(batch, row, back, group, &groups_.values_of(hash, key, group));
    return Status();
  }

  /// One change for each key that the batch has touched, if its total has changed.
  Status emit_changes(Emitter& out) {
    RowEmitter rows(options_.output, out, Port::kMain);
    std::vector<std::string> results = results_of_touched();
    size_t result = 0;
    for (const Id id : touched_) {
      ChangingGroup& group = groups_[id];
      if (group.rows == 0) {
        if (!group.emitted.empty()) STRAND_OK(emit(groups_.key(id), group.emitted, RowKind::kDelete, rows));
        groups_.erase(id);
        continue;
      }
      STRAND_OK(emit_change(id, group, std::move(results[result++]), rows));
      groups_.keep(id);
    }
    touched_.clear();
    STRAND_OK(groups_.finish());
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    share_.set(state_bytes());
    return Status();
  }

  Status emit_change(Id id, ChangingGroup& group, std::string result, RowEmitter& rows) {
    if (result == group.emitted) return Status();
    const std::string_view key = groups_.key(id);
    const bool fresh = group.emitted.empty();
    if (!fresh && options_.update_before) STRAND_OK(emit(key, group.emitted, RowKind::kUpdateBefore, rows));
    group.emitted = std::move(result);
    return emit(key, group.emitted, fresh ? RowKind::kInsert : RowKind::kUpdateAfter, rows);
  }

  /// Of each touched group that has rows.
  std::vector<std::string> results_of_touched() {
    std::vector<const ChangingGroup*> groups;
    for (const Id id : touched_) {
      if (groups_[id].rows != 0) groups.push_back(&groups_[id]);
    }
    return results_.of(groups);
  }

  Status emit(std::string_view key, const std::string& result, RowKind kind, RowEmitter& rows) {
    if (!options_.keys.empty()) reader_.append(key, rows.row());
    results_.append(result, rows.row());
    return rows.end_row(kind);
  }

  GroupOptions options_;
  GroupResults results_;
  OperatorContext* context_ = nullptr;
  KeptGroups groups_;
  obs::MemoryShare share_;

  // Scratch memory of one batch.
  Keys reader_;
  RowList row_list_;
  std::vector<Id> touched_;
};

}  // namespace

Result<OperatorPtr> make_changelog_aggregate(GroupOptions options) {
  STRAND_CHECK(!options.retention_column);
  return OperatorPtr(std::make_unique<ChangelogAggregate>(std::move(options)));
}

}  // namespace strand::ops
