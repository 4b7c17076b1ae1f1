#include "ops/session_aggregate.h"

#include <memory>

#include "ops/keys.h"
#include "ops/late_rows.h"
#include "ops/rows.h"
#include "ops/window_accumulators.h"
#include "state/cold_sessions.h"
#include "state/part_sections.h"
#include "state/session_table.h"

namespace strand::ops {

namespace {

using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;
using state::SessionTable;

constexpr int32_t kSessionAggregateVersion = 1;

class SessionAggregate : public Operator {
 public:
  SessionAggregate(WindowOptions options, WindowAssigner assigner)
      : options_(std::move(options)),
        assigner_(std::move(assigner)),
        accumulators_(WindowAccumulators::of_rows(options_)),
        keys_(options_.input, options_.keys),
        late_(options_.late_output) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = std::make_unique<obs::MemoryShare>(context.memory);
    sessions_ = std::make_unique<SessionTable>(accumulators_.all, options_.size.millis, [this](int64_t end) {
      return assigner_.bounds(end, end).last;
    });
    if (context.spill != nullptr) {
      cold_ = std::make_unique<state::ColdSessions>(
          *context.spill, *sessions_, context.key_groups, context.max_parallelism,
          [this](const char* row) { return accumulators_.all->count(accumulators_.held, row); });
    }
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    sessions_->sweep();
    const auto rows = row_list_.of(batch);
    STRAND_TRY(const auto times, times_.read(batch, options_.time_column, rows));
    keys_.read(batch, rows);
    key_rows_.resize(rows.size());
    sessions_->find_or_add(keys_.hashes(), keys_.keys(), key_rows_);
    if (cold_) STRAND_OK(cold_->bring_back(key_rows_));
    const auto use = [&] { add_taken(batch); };
    const EventTime judge = highest_judge(*context_);
    for (size_t i = 0; i < rows.size(); ++i) {
      const int64_t time = assigner_.local_of(times[i]);
      const WindowBounds alone = assigner_.bounds(time, time + options_.size.millis);
      if (reached(alone.last, judge) && is_late(i, rows[i], alone)) continue;
      accumulators_of_.push_back(sessions_->extend(key_rows_[i], time, use));
      taken_.push_back(rows[i]);
    }
    use();
    STRAND_OK(late_.emit(batch, *context_, out));
    if (cold_) STRAND_OK(cold_->make_room());
    update_books();
    return Status();
  }

  Status advance(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    if (cold_) {
      STRAND_OK(close_cold(rows));
    } else {
      STRAND_OK(close(context_->watermark, rows));
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    update_books();
    return Status();
  }

  Status snapshot(Epoch epoch, state::SnapshotBuilder& out) override {
    const auto parts = sessions_->freeze();
    sections_.begin(epoch, sessions_->freezes());
    for (const state::TablePart& part : parts) {
      sections_.add_rows(out, cold_ ? state::kHotSessionsSection : "sessions", kSessionAggregateVersion, part,
                         [all = accumulators_.all](const state::FrozenRows& rows, ByteWriter& bytes) {
                           SessionTable::encode(*all, rows, bytes);
                         });
    }
    sections_.end();
    return cold_ ? cold_->snapshot(out) : Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    sections_.written(epoch, cold_ ? cold_->written(epoch, refs) : refs);
  }

  Status restore(const std::vector<state::Section>& parts) override {
    const auto decode = [this](const state::Section& part) -> Status {
      STRAND_OK(state::check_version(part.ref, kSessionAggregateVersion));
      STRAND_TRY(const state::Section loaded, part.loaded());
      ByteReader in(loaded.bytes());
      return sessions_->decode(in, context_->key_groups, context_->max_parallelism);
    };
    if (cold_) {
      STRAND_TRY(held_, cold_->restore(parts, decode));
    } else {
      STRAND_OK(restore_whole(parts, decode));
    }
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return newest_end_; }
  bool spills() const override { return true; }
  int64_t state_rows() const override { return sessions_->sessions() + (cold_ ? cold_->sessions() : 0); }
  int64_t state_bytes() const override { return sessions_->bytes(); }

 private:
  Status close(EventTime until, RowEmitter& rows) {
    return sessions_->close(until, [&](const char* row, const SessionTable::Session& session) {
      return emit_row(row, session, rows);
    });
  }
  /// As many as come back at once, one lot after the other, in the order of time.
  Status close_cold(RowEmitter& rows) {
    for (EventTime until = EventTime::min(); until < context_->watermark;) {
      STRAND_TRY(until, cold_->bring_back_due(context_->watermark));
      STRAND_OK(close(until, rows));
      cold_->closed(until);
      STRAND_OK(cold_->make_room());
    }
    return Status();
  }

  template <class F>
  Status restore_whole(const std::vector<state::Section>& parts, F&& decode) {
    for (const state::Section& part : parts) {
      if (state::ColdSessions::is_handed_over(part.ref)) continue;
      STRAND_OK(decode(part));
    }
    STRAND_OK(state::ColdSessions::read(parts, context_->key_groups, *sessions_));
    held_ = 0;
    sessions_->for_each([&](const char*, const SessionTable::Session& session) {
      held_ += accumulators_.all->count(accumulators_.held, session.accumulators());
    });
    return Status();
  }

  /// A row that touches an open session is part of it, however old; `alone` is the session it would begin.
  bool is_late(size_t i, uint32_t row, const WindowBounds& alone) {
    const EventTime judge =
        context_->judge(columnar::key_group(keys_.hashes()[i], context_->max_parallelism));
    if (!reached(alone.last, judge) || sessions_->touches(key_rows_[i], alone.start)) return false;
    late_.lose(row, alone, judge);
    return true;
  }

  void add_taken(const Batch& batch) {
    sessions_->accumulators().update(batch, taken_, accumulators_of_, sessions_->values());
    sessions_->end_part();
    held_ += static_cast<int64_t>(taken_.size());
    taken_.clear();
    accumulators_of_.clear();
  }

  Status emit_row(const char* row, const SessionTable::Session& session, RowEmitter& rows) {
    const WindowBounds window = assigner_.bounds(session.start, session.end);
    const int64_t counted = accumulators_.all->count(accumulators_.held, session.accumulators());
    context_->ledger->add(Entry::kCounted, counted);
    held_ -= counted;
    newest_end_ = std::max(newest_end_, window.last + Duration{1});
    append_window_row(window, row, session.accumulators(), keys_, options_.keys.size(),
                      *accumulators_.aggregates, rows.row());
    return rows.end_row();
  }

  void update_books() {
    context_->ledger->set_in_state(held_);
    share_->set(sessions_->bytes());
  }

  WindowOptions options_;
  WindowAssigner assigner_;
  WindowAccumulators accumulators_;
  OperatorContext* context_ = nullptr;
  std::unique_ptr<SessionTable> sessions_;
  std::unique_ptr<state::ColdSessions> cold_;
  state::PartSections sections_;
  std::unique_ptr<obs::MemoryShare> share_;
  int64_t held_ = 0;
  EventTime newest_end_ = EventTime::min();  // end of a window that was closed

  // Scratch memory of one batch.
  Keys keys_;
  RowList row_list_;
  Times times_;
  LateRows late_;
  std::vector<char*> key_rows_;
  std::vector<uint32_t> taken_;  // rows whose accumulators are known, and not updated yet
  std::vector<char*> accumulators_of_;
};

}  // namespace

OperatorPtr make_session_aggregate(WindowOptions options, WindowAssigner assigner) {
  return std::make_unique<SessionAggregate>(std::move(options), std::move(assigner));
}

}  // namespace strand::ops
