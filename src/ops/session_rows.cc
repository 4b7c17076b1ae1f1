#include "ops/session_rows.h"

#include <map>
#include <set>

#include "expr/zone.h"
#include "ops/keys.h"
#include "ops/late_rows.h"
#include "ops/row_bytes.h"
#include "ops/rows.h"
#include "state/key_slots.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kSessionRowsVersion = 1;
constexpr int64_t kSessionRowBytes = 48;  // of a row beside its bytes, about

struct OpenSession {
  int64_t end = 0;
  std::map<uint64_t, std::string> rows;  // by their number of arrival
};
/// By start; of one key they do not touch.
using OpenSessions = std::map<int64_t, OpenSession>;

class SessionRows : public Operator {
 public:
  SessionRows(SessionRowsOptions options, expr::Zone zone)
      : options_(std::move(options)),
        zone_(std::move(zone)),
        reader_(options_.input, options_.keys),
        rows_(options_.input->size()) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto list = row_list_.of(batch);
    reader_.read(batch, list);
    STRAND_TRY(const auto times, times_.read(batch, options_.time_column, list));
    late_.clear();
    for (size_t i = 0; i < list.size(); ++i) {
      const uint64_t hash = reader_.hashes()[i];
      const int64_t end = times[i] + options_.gap.millis;
      const SessionKeys::Id known = keys_.find(hash, reader_.keys()[i]);
      const EventTime judge = context_->judge(columnar::key_group(hash, context_->max_parallelism));
      const bool touches =
          known != SessionKeys::kNone && touching(keys_[known], times[i], end) != keys_[known].end();
      if (!touches && reached(EventTime{end - 1}, judge)) {
        late_.push_back(list[i]);
        continue;
      }
      const SessionKeys::Id key = keys_.find_or_add(hash, reader_.keys()[i]);
      OpenSession row{end, {}};
      row.rows.emplace(next_row_++, rows_.encode(batch, list[i]));
      count(row, 1);
      merge(key, times[i], std::move(row));
    }
    update_books();
    context_->ledger->add(Entry::kLate, static_cast<int64_t>(late_.size()));
    if (late_.empty() || !out.wanted(Port::kLate)) return Status();
    return out.emit(Port::kLate, batch.with_selection(std::make_shared<const columnar::Selection>(late_)));
  }

  Status advance(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    while (!due_.empty() && reached(EventTime{due_.begin()->end - 1}, context_->watermark)) {
      const Due due = *due_.begin();
      due_.erase(due_.begin());
      newest_ = std::max(newest_, EventTime{due.end - 1});
      const auto session = keys_[due.key].extract(due.start);
      count(session.mapped(), -1);
      context_->ledger->add(Entry::kCounted, static_cast<int64_t>(session.mapped().rows.size()));
      STRAND_OK(emit(due.start, session.mapped(), rows));
      if (keys_[due.key].empty()) keys_.erase(due.key);
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    update_books();
    return Status();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter bytes;
    keys_.for_each([&](SessionKeys::Id id) {
      for (const auto& [start, session] : keys_[id]) {
        keys_.encode_key(id, bytes);
        bytes.put(start);
        bytes.put(session.end);
        bytes.put(static_cast<int64_t>(session.rows.size()));
        for (const auto& [number, row] : session.rows) bytes.put_string(row);
      }
    });
    out.add("sessions", kSessionRowsVersion, bytes.take());
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kSessionRowsVersion));
      ByteReader in(part.bytes());
      while (in.remaining() > 0) STRAND_OK(restore_session(in));
    }
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return newest_; }
  int64_t state_rows() const override { return row_count_; }
  int64_t state_bytes() const override {
    return row_bytes_ + row_count_ * kSessionRowBytes + keys_.memory_bytes();
  }

 private:
  using SessionKeys = state::KeySlots<OpenSessions>;
  struct Due {
    int64_t end;
    SessionKeys::Id key;
    int64_t start;
    auto operator<=>(const Due&) const = default;
  };

  /// The first session that shares an instant with [start, end], ends included: sessions that meet are one.
  static OpenSessions::iterator touching(OpenSessions& sessions, int64_t start, int64_t end) {
    auto at = sessions.upper_bound(end);
    if (at == sessions.begin()) return sessions.end();
    auto before = std::prev(at);
    if (before->second.end < start) return sessions.end();
    while (before != sessions.begin() && std::prev(before)->second.end >= start) --before;
    return before;
  }

  void merge(SessionKeys::Id key, int64_t start, OpenSession session) {
    OpenSessions& sessions = keys_[key];
    for (auto at = touching(sessions, start, session.end); at != sessions.end();
         at = touching(sessions, start, session.end)) {
      due_.erase({at->second.end, key, at->first});
      start = std::min(start, at->first);
      session.end = std::max(session.end, at->second.end);
      at->second.rows.merge(session.rows);
      session.rows = std::move(at->second.rows);
      sessions.erase(at);
    }
    due_.insert({session.end, key, start});
    sessions.emplace(start, std::move(session));
  }

  Status emit(int64_t start, const OpenSession& session, RowEmitter& rows) {
    const size_t own = options_.input->size();
    const bool local = (*options_.output)[own + 2].type->kind == columnar::TypeKind::kTimestamp;
    const int64_t last = session.end - 1;
    for (const auto& [number, row] : session.rows) {
      rows_.decode(row, rows.row());
      append_timestamp(zone_.local_of(start), rows.row().column(own));
      append_timestamp(zone_.local_of(session.end), rows.row().column(own + 1));
      append_timestamp(local ? zone_.local_of(last) : last, rows.row().column(own + 2));
      STRAND_OK(rows.end_row());
    }
    return Status();
  }

  Status restore_session(ByteReader& in) {
    STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
    STRAND_TRY(const int64_t start, in.get<int64_t>());
    OpenSession session;
    STRAND_TRY(session.end, in.get<int64_t>());
    STRAND_TRY(const int64_t rows, in.get<int64_t>());
    for (int64_t i = 0; i < rows; ++i) {
      STRAND_TRY(const std::string_view row, in.get_string());
      session.rows.emplace(next_row_++, std::string(row));
    }
    if (!context_->key_groups.contains(columnar::key_group(stored.hash, context_->max_parallelism)))
      return Status();
    count(session, 1);
    merge(keys_.find_or_add(stored.hash, stored.key), start, std::move(session));
    return Status();
  }

  void count(const OpenSession& session, int64_t by) {
    row_count_ += by * static_cast<int64_t>(session.rows.size());
    for (const auto& [number, row] : session.rows) row_bytes_ += by * static_cast<int64_t>(row.size());
  }
  void update_books() {
    context_->ledger->set_in_state(row_count_);
    share_.set(state_bytes());
  }

  SessionRowsOptions options_;
  expr::Zone zone_;
  OperatorContext* context_ = nullptr;
  SessionKeys keys_;
  std::set<Due> due_;
  uint64_t next_row_ = 0;
  int64_t row_count_ = 0;
  int64_t row_bytes_ = 0;
  EventTime newest_ = EventTime::min();
  obs::MemoryShare share_;

  // Scratch memory of one batch.
  Keys reader_;
  RowList row_list_;
  Times times_;
  RowBytes rows_;
  std::vector<uint32_t> late_;
};

}  // namespace

Result<OperatorPtr> make_session_rows(SessionRowsOptions options) {
  STRAND_TRY(expr::Zone zone, expr::Zone::load(options.zone));
  return OperatorPtr(std::make_unique<SessionRows>(std::move(options), std::move(zone)));
}

}  // namespace strand::ops
