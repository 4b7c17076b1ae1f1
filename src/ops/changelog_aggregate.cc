#include "ops/changelog_aggregate.h"

#include <algorithm>
#include <memory>

#include "ops/changing_group.h"
#include "ops/group_values.h"
#include "ops/keys.h"
#include "ops/rows.h"
#include "state/logged_rows.h"

namespace strand::ops {

namespace {

using columnar::RowKind;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kChangelogAggregateVersion = 2;
constexpr int64_t kForgetFrom = 4096;  // keys from which expired ones are looked for

/// The body: its key and hash, the group without the values that are counted, and until when it is kept.
struct LoggedGroup {
  struct Head {};
  Head head;
};

class ChangelogAggregate : public Operator {
 public:
  explicit ChangelogAggregate(GroupOptions options)
      : options_(std::move(options)),
        results_(options_.aggregates, *options_.output, options_.keys.size(), options_.changes),
        logged_("groups", kChangelogAggregateVersion),
        values_("values", kChangelogAggregateVersion),
        reader_(options_.input, options_.keys) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    STRAND_OK(logged_.spill_to(context.spill));
    return values_.spill_to(context.spill);
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto rows = row_list_.of(batch);
    reader_.read(batch, rows);
    forget();
    for (size_t i = 0; i < rows.size(); ++i) {
      change(batch, rows[i], reader_.hashes()[i], reader_.keys()[i]);
      values_.let_go();
    }
    context_->ledger->add(Entry::kCounted, batch.rows());
    return emit_changes(out);
  }

  Status emit_held(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    Status status;
    groups_.for_each([&](ChangingGroups::Id id) {
      if (status.ok() && !groups_[id].emitted.empty() && !forgotten(groups_[id]))
        status = emit(id, groups_[id].emitted, RowKind::kInsert, rows);
    });
    STRAND_OK(std::move(status));
    return rows.flush();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    logged_.snapshot(out);
    values_.snapshot(out);
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    logged_.written(epoch, refs);
    values_.written(epoch, refs);
  }

  Status restore(const std::vector<state::Section>& parts) override {
    const auto mine = [&](uint64_t hash) { return owns(*context_, hash); };
    STRAND_OK(logged_.restore(parts, context_->key_groups, mine));
    Status status;
    logged_.for_each([&](LoggedGroups::Id id) {
      if (status.ok()) status = restore_group(id);
    });
    STRAND_OK(std::move(status));
    STRAND_OK(values_.restore(parts, context_->key_groups, mine,
                              [&](const GroupValues::Restored& value) -> uint32_t& {
                                ChangingGroup& group = groups_[groups_.find_or_add(value.hash, value.key)];
                                if (status.ok())
                                  status = results_.restore(value.aggregate, value.value, value.count, group);
                                return group.first_value;
                              }));
    STRAND_OK(std::move(status));
    groups_.for_each([&](ChangingGroups::Id id) { group_bytes_ += groups_[id].bytes(); });
    share_.set(state_bytes());
    return Status();
  }

  /// The values that are only counted; the groups themselves stay in memory.
  bool spills() const override { return std::ranges::any_of(options_.aggregates, &Aggregate::distinct); }
  int64_t state_rows() const override { return groups_.size(); }
  int64_t state_bytes() const override {
    return groups_.memory_bytes() + group_bytes_ + logged_.memory_bytes() + values_.memory_bytes();
  }

 private:
  using LoggedGroups = state::LoggedRows<LoggedGroup>;

  Status restore_group(LoggedGroups::Id logged) {
    ByteReader in(logged_.body(logged));
    STRAND_OK(logged_.intact());
    STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
    ChangingGroup group;
    STRAND_OK(results_.decode(in, group));
    if (in.remaining() > 0) {
      STRAND_TRY(group.expiry.millis, in.get<int64_t>());
    }
    group.logged = logged;
    groups_[groups_.find_or_add(stored.hash, stored.key)] = std::move(group);
    return Status();
  }
  /// What has changed of the group besides its values.
  void log(ChangingGroups::Id id) {
    ChangingGroup& group = groups_[id];
    ByteWriter bytes;
    groups_.encode_key(id, bytes);
    results_.encode(group, bytes, true);
    bytes.put(group.expiry.millis);
    if (group.logged == LoggedGroups::kNone) {
      group.logged = logged_.add(groups_.hash(id), {}, bytes.take());
    } else {
      logged_.replace(group.logged, bytes.take());
    }
  }

  bool forgotten(const ChangingGroup& group) const { return group.expiry <= context_->now; }
  void begin_anew(ChangingGroups::Id id) {
    ChangingGroup& group = groups_[id];
    group_bytes_ -= group.bytes();
    values_.at(groups_.hash(id), groups_.key(id), group.first_value);
    values_.clear();
    group.rows = 0;
    group.aggregates = {};
    group.emitted.clear();
    group_bytes_ += group.bytes();
  }
  void erase(ChangingGroups::Id id) {
    if (groups_[id].logged != LoggedGroups::kNone) logged_.erase(groups_[id].logged);
    logged_.let_go();
    groups_.erase(id);
  }
  /// Looks at all keys once they are twice as many as were left last time.
  void forget() {
    if (!options_.ttl || groups_.size() < forget_at_) return;
    std::vector<ChangingGroups::Id> old;
    groups_.for_each([&](ChangingGroups::Id id) {
      if (forgotten(groups_[id])) old.push_back(id);
    });
    for (const ChangingGroups::Id id : old) {
      begin_anew(id);
      group_bytes_ -= groups_[id].bytes();
      erase(id);
    }
    forget_at_ = std::max<int64_t>(kForgetFrom, 2 * groups_.size());
  }

  void change(const Batch& batch, uint32_t row, uint64_t hash, std::string_view key) {
    const bool back = takes_back(batch.kind(row));
    const ChangingGroups::Id id = back ? groups_.find(hash, key) : groups_.find_or_add(hash, key);
    if (id == ChangingGroups::kNone) return;
    ChangingGroup& group = groups_[id];
    if (forgotten(group)) begin_anew(id);
    if (back && group.rows == 0) return;
    if (options_.ttl) group.expiry = context_->now + *options_.ttl;
    if (!group.touched) {
      group.touched = true;
      touched_.push_back(id);
      group_bytes_ -= group.bytes();
    }
    values_.at(hash, key, group.first_value);
    results_.change(batch, row, back, group, &values_);
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
        erase(id);
        continue;
      }
      STRAND_OK(emit_change(id, group, std::move(results[result++]), rows));
      log(id);
      logged_.let_go();
      group_bytes_ += group.bytes();
    }
    touched_.clear();
    STRAND_OK(logged_.tidy(groups_.memory_bytes() + group_bytes_));
    STRAND_OK(values_.tidy());
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
  LoggedGroups logged_;
  GroupValues values_;
  int64_t group_bytes_ = 0;
  int64_t forget_at_ = kForgetFrom;
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
