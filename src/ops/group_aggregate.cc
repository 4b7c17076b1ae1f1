#include <algorithm>
#include <memory>

#include "ops/changelog_aggregate.h"
#include "ops/keys.h"
#include "ops/operators.h"
#include "ops/rows.h"
#include "state/aggregate_table.h"
#include "state/cold_groups.h"
#include "state/part_sections.h"

namespace strand::ops {

namespace {

using columnar::RowKind;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;
using state::Accumulators;

constexpr int32_t kGroupAggregateVersion = 1;
constexpr int64_t kPurgeFrom = 4096;  // keys from which expired ones are looked for

class GroupAggregate : public Operator {
 public:
  explicit GroupAggregate(GroupOptions options)
      : options_(std::move(options)),
        accumulators_(std::make_shared<const Accumulators>(accumulator_specs(options_.aggregates))),
        keys_(options_.input, options_.keys) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    table_ = std::make_unique<state::AggregateTable>(memory_,
                                                     state::AggregateLayout{accumulators_, true, expires()});
    if (context.spill != nullptr) {
      cold_ = std::make_unique<state::ColdGroups>(*context.spill, memory_, *table_, context.key_groups,
                                                  context.max_parallelism);
    }
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto rows = row_list_.of(batch);
    kept_.assign(rows.begin(), rows.end());
    keys_.read(batch, rows);
    STRAND_OK(read_instants(batch, rows));
    STRAND_OK(split_late(batch, out));
    state_rows_.resize(kept_.size());
    table_->find_or_add(keys_.hashes(), keys_.keys(), state_rows_);
    if (cold_) STRAND_OK(cold_->bring_back(state_rows_));
    if (expires()) extend();
    accumulators_->update(batch, kept_, state_rows_, table_->values());
    table_->touch(state_rows_);
    context_->ledger->add(Entry::kCounted, static_cast<int64_t>(kept_.size()));
    STRAND_OK(emit_changes(out));
    if (cold_) STRAND_OK(cold_->make_room());
    share_.set(state_bytes());
    if (options_.ttl) purge();
    return Status();
  }

  Status advance(Emitter&) override {
    if (options_.retention_column) purge();
    return Status();
  }

  Status emit_held(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    const auto emit = [&](const char* row) {
      if (!table_->was_emitted(row) || forgotten(row)) return Status();
      return emit_row(row, table_->emitted(row), RowKind::kInsert, rows);
    };
    Status status;
    if (cold_ && cold_->any()) {
      status = cold_->for_each(emit);
    } else {
      table_->for_each([&](const char* row) {
        if (status.ok()) status = emit(row);
      });
    }
    STRAND_OK(status);
    return rows.flush();
  }

  Status snapshot(Epoch epoch, state::SnapshotBuilder& out) override {
    const auto frozen = memory_.freeze();
    sections_.begin(epoch, memory_.freezes());
    for (const state::TablePart& part : table_->parts(frozen)) {
      sections_.add_rows(out, cold_ ? state::kHotGroupsSection : "groups", kGroupAggregateVersion, part,
                         [layout = table_->layout()](const state::FrozenRows& rows, ByteWriter& bytes) {
                           state::AggregateTable::encode(layout, rows, bytes);
                         });
    }
    sections_.end();
    if (cold_) cold_->snapshot(out);
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    sections_.written(epoch, cold_ ? cold_->written(epoch, refs) : refs);
  }
  Status restore(const std::vector<state::Section>& parts) override {
    STRAND_OK(cold_ ? cold_->restore(parts) : state::ColdGroups::read(parts, context_->key_groups, *table_));
    for (const state::Section& part : parts) {
      if (state::RowSpill::is_section(part.ref)) continue;
      STRAND_OK(state::check_version(part.ref, kGroupAggregateVersion));
      STRAND_TRY(const state::Section loaded, part.loaded());
      ByteReader in(loaded.bytes());
      STRAND_OK(table_->decode(in, context_->key_groups, context_->max_parallelism, table_->keeps_emitted()));
      if (cold_) STRAND_OK(cold_->make_room());
    }
    share_.set(state_bytes());
    return Status();
  }

  bool judges_lateness() const override { return options_.retention_column.has_value(); }
  bool spills() const override { return true; }
  int64_t state_rows() const override { return table_->size() + (cold_ ? cold_->rows() : 0); }
  int64_t state_bytes() const override { return static_cast<int64_t>(memory_.bytes() + table_->own_bytes()); }

 private:
  bool expires() const { return options_.retention_column || options_.ttl; }
  void purge() {
    if (cold_) cold_->forget(options_.ttl ? EventTime{context_->now.millis} : context_->lasting_judge());
    if (table_->size() < purge_at_) return;
    table_->retain([&](const char* row) { return !forgotten(row); });
    purge_at_ = std::max(kPurgeFrom, 2 * table_->size());
    share_.set(state_bytes());
  }
  EventTime judge(uint64_t hash) const {
    return context_->judge(columnar::key_group(hash, context_->max_parallelism));
  }
  /// The end of input forgets no total: a job that goes on from a drained snapshot adds to it.
  bool forgotten(const char* row) const {
    if (!expires()) return false;
    const EventTime expiry = table_->expiry(row);
    if (options_.ttl) return expiry.millis <= context_->now.millis;
    const int32_t group = columnar::key_group(state::KeyTable::hash_of(row), context_->max_parallelism);
    return expiry != EventTime::max() && reached(expiry, context_->lasting_judge(group));
  }

  /// Until when each row keeps its key. A row without the column's value keeps it for ever.
  Status read_instants(const Batch& batch, std::span<const uint32_t> rows) {
    if (options_.ttl) instants_.assign(rows.size(), EventTime{context_->now.millis} + *options_.ttl);
    if (!options_.retention_column) return Status();
    STRAND_TRY(const auto times,
               times_.read(batch, *options_.retention_column, rows, EventTime::max().millis));
    instants_.resize(times.size());
    for (size_t i = 0; i < times.size(); ++i) instants_[i] = EventTime{times[i]} + options_.retention_after;
    return Status();
  }

  /// Takes out the rows whose own instant has been reached: they never begin a total anew.
  Status split_late(const Batch& batch, Emitter& out) {
    if (!options_.retention_column) return Status();
    const EventTime highest = highest_judge(*context_);
    if (std::ranges::none_of(instants_, [&](EventTime t) { return reached(t, highest); })) return Status();
    auto late = std::make_shared<columnar::Selection>();
    size_t n = 0;
    for (size_t i = 0; i < kept_.size(); ++i) {
      if (instants_[i] != EventTime::max() && reached(instants_[i], judge(keys_.hashes()[i]))) {
        late->push_back(kept_[i]);
        continue;
      }
      kept_[n] = kept_[i];
      instants_[n] = instants_[i];
      keys_.hashes()[n] = keys_.hashes()[i];
      keys_.keys()[n] = keys_.keys()[i];
      ++n;
    }
    kept_.resize(n);
    instants_.resize(n);
    keys_.hashes().resize(n);
    keys_.keys().resize(n);
    if (late->empty()) return Status();
    context_->ledger->add(Entry::kLate, static_cast<int64_t>(late->size()));
    return out.wanted(Port::kLate) ? out.emit(Port::kLate, batch.with_selection(late)) : Status();
  }

  void extend() {
    for (size_t i = 0; i < kept_.size(); ++i) {
      char* row = state_rows_[i];
      if (table_->was_emitted(row) && forgotten(row)) table_->reset(row);
      table_->set_expiry(row, std::max(instants_[i], table_->expiry(row)));
    }
  }

  Status emit_changes(Emitter& out) {
    RowEmitter rows(options_.output, out, Port::kMain);
    const auto emit_change = [&](const char* row, const char* before) -> Status {
      if (before == nullptr) return emit_row(row, row, RowKind::kInsert, rows);
      if (options_.update_before) STRAND_OK(emit_row(row, before, RowKind::kUpdateBefore, rows));
      return emit_row(row, row, RowKind::kUpdateAfter, rows);
    };
    STRAND_OK(table_->emit_changed(emit_change));
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    return Status();
  }

  Status emit_row(const char* row, const char* accumulators, RowKind kind, RowEmitter& rows) {
    keys_.append(state::KeyTable::key_of(row), rows.row());
    for (size_t i = 0; i < accumulators_->size(); ++i) {
      accumulators_->append_result(i, accumulators, rows.row().column(options_.keys.size() + i));
    }
    return rows.end_row(kind);
  }

  GroupOptions options_;
  std::shared_ptr<const Accumulators> accumulators_;
  OperatorContext* context_ = nullptr;
  state::StatePages memory_;  // outlives the table
  std::unique_ptr<state::AggregateTable> table_;
  std::unique_ptr<state::ColdGroups> cold_;
  state::PartSections sections_;
  obs::MemoryShare share_;
  int64_t purge_at_ = kPurgeFrom;

  // Scratch memory of one batch.
  Keys keys_;
  RowList row_list_;
  Times times_;
  std::vector<uint32_t> kept_;
  std::vector<EventTime> instants_;
  std::vector<char*> state_rows_;
};

}  // namespace

Result<OperatorPtr> make_group_aggregate(GroupOptions options) {
  if (options.changes || !std::ranges::all_of(options.aggregates, &Aggregate::plain))
    return make_changelog_aggregate(std::move(options));
  return OperatorPtr(std::make_unique<GroupAggregate>(std::move(options)));
}

}  // namespace strand::ops
