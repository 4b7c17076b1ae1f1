#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <tuple>

#include "ops/changing_group.h"
#include "ops/keys.h"
#include "ops/late_rows.h"
#include "ops/rows.h"
#include "ops/whole_windows.h"
#include "ops/window_accumulators.h"

namespace strand::ops {

namespace {

using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kWholeSessionsVersion = 1;

/// The sessions of each key by their start; they never touch each other. A row that is taken back leaves its
/// session as long as it was.
class WholeSessions : public Operator {
 public:
  WholeSessions(WindowOptions options, WindowAssigner assigner)
      : options_(std::move(options)),
        assigner_(std::move(assigner)),
        keys_(options_.input, options_.keys),
        results_(options_.aggregates, *options_.output, options_.keys.size() + 3, options_.changes),
        late_(options_.late_output) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    if (!options_.changes) STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto rows = row_list_.of(batch);
    STRAND_TRY(const auto times, times_.read(batch, options_.time_column, rows));
    keys_.read(batch, rows);
    for (size_t i = 0; i < rows.size(); ++i) {
      const auto id = sessions_.find_or_add(keys_.hashes()[i], keys_.keys()[i]);
      add(batch, id, rows[i], assigner_.local_of(times[i]));
      if (sessions_[id].empty()) sessions_.erase(id);
    }
    STRAND_OK(late_.emit(batch, *context_, out));
    update_books();
    return Status();
  }

  Status advance(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    while (!ends_.empty()) {
      const auto [end, start, id] = *ends_.begin();
      const WindowBounds window = assigner_.bounds(start, end);
      if (!reached(window.last, context_->watermark)) break;
      ends_.erase(ends_.begin());
      const Session& session = sessions_[id].at(start);
      newest_end_ = std::max(newest_end_, window.last + Duration{1});
      if (session.group.rows != 0) {
        append_window_columns(window, sessions_.key(id), keys_, options_.keys.size(), rows.row());
        results_.append(results_.of({&session.group})[0], rows.row());
        STRAND_OK(rows.end_row());
      }
      context_->ledger->add(Entry::kCounted, session.held);
      held_ -= session.held;
      group_bytes_ -= session.group.bytes();
      sessions_[id].erase(start);
      if (sessions_[id].empty()) sessions_.erase(id);
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    update_books();
    return Status();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter bytes;
    sessions_.for_each([&](Keyed::Id id) {
      for (const auto& [start, session] : sessions_[id]) {
        sessions_.encode_key(id, bytes);
        bytes.put(start);
        bytes.put(session.end);
        results_.encode(session.group, bytes);
        bytes.put(session.held);
      }
    });
    out.add("sessions", kWholeSessionsVersion, bytes.take());
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kWholeSessionsVersion));
      ByteReader in(part.bytes());
      while (in.remaining() > 0) {
        STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
        STRAND_TRY(const int64_t start, in.get<int64_t>());
        Session session;
        STRAND_TRY(session.end, in.get<int64_t>());
        STRAND_OK(results_.decode(in, session.group));
        STRAND_TRY(session.held, in.get<int64_t>());
        if (!context_->key_groups.contains(columnar::key_group(stored.hash, context_->max_parallelism)))
          continue;
        held_ += session.held;
        group_bytes_ += session.group.bytes();
        put(sessions_.find_or_add(stored.hash, stored.key), start, std::move(session));
      }
    }
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return newest_end_; }
  int64_t state_rows() const override { return static_cast<int64_t>(ends_.size()); }
  int64_t state_bytes() const override {
    constexpr size_t kNodeBytes = size_t{2} * 64;  // of the two trees
    return sessions_.memory_bytes() + group_bytes_ +
           static_cast<int64_t>(ends_.size() * (sizeof(Session) + kNodeBytes));
  }

 private:
  struct Session {
    int64_t end = 0;  // first time that is not in it
    ChangingGroup group;
    int64_t held = 0;  // rows that came
  };
  using Sessions = std::map<int64_t, Session>;  // by start
  using Keyed = state::KeySlots<Sessions>;

  void put(Keyed::Id id, int64_t start, Session session) {
    ends_.emplace(session.end, start, id);
    sessions_[id].emplace(start, std::move(session));
  }

  /// Makes one of all sessions of the key that a row at `time` touches; null if there is none.
  Session* touched(Keyed::Id id, int64_t time) {
    Sessions& all = sessions_[id];
    const int64_t gap = options_.size.millis;
    auto first = all.upper_bound(time);
    while (first != all.begin() && std::prev(first)->second.end >= time) --first;
    auto last = first;
    while (last != all.end() && last->first <= time + gap) ++last;
    if (first == last) return nullptr;
    Session merged = std::move(first->second);
    const int64_t start = std::min(first->first, time);
    ends_.erase({merged.end, first->first, id});
    for (auto next = std::next(first); next != last; ++next) {
      ends_.erase({next->second.end, next->first, id});
      group_bytes_ -= merged.group.bytes() + next->second.group.bytes();
      results_.merge(next->second.group, merged.group);
      group_bytes_ += merged.group.bytes();
      merged.held += next->second.held;
      merged.end = std::max(merged.end, next->second.end);
    }
    all.erase(first, last);
    merged.end = std::max(merged.end, time + gap);
    put(id, start, std::move(merged));
    return &all.at(start);
  }

  void add(const Batch& batch, Keyed::Id id, uint32_t row, int64_t time) {
    const bool back = takes_back(batch.kind(row));
    Session* session = touched(id, time);
    if (session == nullptr) {
      const WindowBounds alone = assigner_.bounds(time, time + options_.size.millis);
      const EventTime judge =
          context_->judge(columnar::key_group(sessions_.hash(id), context_->max_parallelism));
      if (reached(alone.last, judge)) return late_.lose(row, alone, judge);
      if (back) return context_->ledger->add(Entry::kCounted, 1);
      put(id, time, Session{alone.end, {}, 0});
      session = &sessions_[id].at(time);
    }
    group_bytes_ -= session->group.bytes();
    results_.change(batch, row, back, session->group);
    group_bytes_ += session->group.bytes();
    ++session->held;
    ++held_;
  }

  void update_books() {
    context_->ledger->set_in_state(held_);
    share_.set(state_bytes());
  }

  WindowOptions options_;
  WindowAssigner assigner_;
  OperatorContext* context_ = nullptr;
  Keyed sessions_;
  std::set<std::tuple<int64_t, int64_t, Keyed::Id>> ends_;  // end, start, key
  int64_t group_bytes_ = 0;
  int64_t held_ = 0;
  obs::MemoryShare share_;
  EventTime newest_end_ = EventTime::min();  // end of a window that was closed

  // Scratch memory of one batch.
  Keys keys_;
  GroupResults results_;
  RowList row_list_;
  Times times_;
  LateRows late_;
};

}  // namespace

OperatorPtr make_whole_sessions(WindowOptions options, WindowAssigner assigner) {
  return std::make_unique<WholeSessions>(std::move(options), std::move(assigner));
}

}  // namespace strand::ops
