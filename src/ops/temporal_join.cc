#include "ops/temporal_join.h"

#include <algorithm>
#include <map>

#include "ops/join_sides.h"
#include "ops/keyed_row_bytes.h"
#include "ops/row_bytes.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"
#include "ops/waiting_rows.h"
#include "state/key_slots.h"
#include "state/logged_rows.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using columnar::RowKind;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kTemporalJoinVersion = 1;
constexpr int32_t kLoggedVersionsVersion = 2;  // before it, they were written whole
constexpr const char* kWaitingSection = "waiting";
constexpr const char* kVersionsSection = "versions";
constexpr int64_t kVersionBytes = 80;  // of a version in its key and among those that come, about

/// What a key has been since a time: the body is a row of the right side.
struct Version {
  struct Head {
    int64_t deleted = 0;
  };
  Head head;
};
using Versions = state::LoggedRows<Version>;
struct VersionedKey {
  std::map<int64_t, Versions::Id> versions;  // by event time
  int64_t waiting = 0;                       // rows of the left side
  bool null_key = false;
};

class TemporalJoin : public Operator {
 public:
  TemporalJoin(TemporalJoinOptions options, std::unique_ptr<expr::Evaluator> condition)
      : options_(std::move(options)),
        condition_(std::move(condition)),
        versions_(kVersionsSection, kLoggedVersionsVersion),
        candidates_(options_.pairs),
        joined_(options_.sides[0].schema, options_.sides[1].schema),
        readers_{reader_of(options_.sides[0]), reader_of(options_.sides[1])},
        form_(options_.sides[1].schema, options_.sides[1].keys),
        candidate_parts_(form_.parts(candidates_, options_.sides[0].schema->size())) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return versions_.spill_to(context.spill);
  }

  Status process(int input, const Batch& batch, Emitter&) override {
    STRAND_CHECK(input == 0 || input == 1);
    context_->ledger->add(Entry::kIn, batch.rows());
    JoinSideReader& reader = readers_[static_cast<size_t>(input)];
    STRAND_OK(reader.read(batch));
    if (input == 0) {
      waiting_.begin(batch);
      for (size_t i = 0; i < reader.rows.size(); ++i) wait(batch, i);
      waiting_.end();
    } else {
      form_.read(batch, reader.rows);
      for (size_t i = 0; i < reader.rows.size(); ++i) add_version(batch, i);
    }
    return tidy();
  }

  Status advance(Emitter& out) override {
    const std::vector<WaitingRows::Row> due = waiting_.take(context_->watermark.millis);
    RowEmitter rows(options_.output, out, Port::kMain);
    const auto parts = form_.parts(rows.row(), options_.sides[0].schema->size());
    for (size_t from = 0; from < due.size(); from += kAtOnce) {
      STRAND_OK(answer(std::span(due).subspan(from, std::min(kAtOnce, due.size() - from)), parts, rows));
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kCounted, static_cast<int64_t>(due.size()));
    context_->ledger->add(Entry::kOut, rows.rows());
    forget(context_->before_end.millis);
    return tidy();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    out.add_deferred(kWaitingSection, kTemporalJoinVersion,
                     waiting_.writer(options_.sides[0].schema, /*with_kinds=*/true));
    versions_.snapshot(out);
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    versions_.written(epoch, refs);
  }

  Status restore(const std::vector<state::Section>& parts) override {
    std::vector<state::Section> logs;
    for (const state::Section& part : parts) {
      if (part.ref.name == kVersionsSection && part.ref.version != kTemporalJoinVersion) logs.push_back(part);
    }
    STRAND_OK(restore_log(logs));
    for (const state::Section& part : parts) {
      if (part.ref.name == kVersionsSection && part.ref.version != kTemporalJoinVersion) continue;
      STRAND_OK(state::check_version(part.ref, kTemporalJoinVersion));
      STRAND_OK(part.ref.name == kWaitingSection ? restore_waiting(part.bytes())
                                                 : restore_whole(part.bytes()));
    }
    return tidy();
  }

  bool judges_lateness() const override { return true; }
  /// The versions; rows that wait, and what finds a version, stay in memory.
  bool spills() const override { return true; }
  int64_t state_rows() const override { return waiting_.rows() + versions_.size(); }
  int64_t state_bytes() const override {
    return waiting_.memory_bytes() + key_bytes() + versions_.memory_bytes();
  }

 private:
  using TemporalKeys = state::KeySlots<VersionedKey>;
  static constexpr size_t kAtOnce =
      4'096;  // candidates of the condition, and rows that are restored together

  static JoinSideReader reader_of(const TemporalJoinOptions::Side& side) {
    return JoinSideReader(side.schema, side.keys, side.time_column);
  }

  int64_t key_bytes() const { return keys_.memory_bytes() + versions_.size() * kVersionBytes; }

  /// A row behind the judge is due at the next step of event time, however far a restored job is behind it.
  void wait(const Batch& batch, size_t i) {
    const JoinSideReader& reader = readers_[0];
    const uint64_t hash = readers_[0].keys.hashes()[i];
    const TemporalKeys::Id key = keys_.find_or_add(hash, readers_[0].keys.keys()[i]);
    keys_[key].null_key = reader.null_key(batch, i);
    ++keys_[key].waiting;
    const EventTime judge = context_->judge(columnar::key_group(hash, context_->max_parallelism));
    const bool behind = reached(EventTime{reader.times[i]}, judge);
    waiting_.add(behind ? EventTime::min().millis : reader.times[i], key, reader.rows[i]);
  }

  void add_version(const Batch& batch, size_t i) {
    JoinSideReader& reader = readers_[1];
    const RowKind kind = batch.kind(reader.rows[i]);
    context_->ledger->add(Entry::kCounted, 1);
    if (kind == RowKind::kUpdateBefore || reader.null_key(batch, i)) return;
    put_version(i, kind == RowKind::kDelete, form_.row(i));
  }
  /// Of row `i` of the reader.
  void put_version(size_t i, bool deleted, std::string_view row) {
    const uint64_t hash = readers_[1].keys.hashes()[i];
    const TemporalKeys::Id key = keys_.find_or_add(hash, readers_[1].keys.keys()[i]);
    const auto known = keys_[key].versions.find(readers_[1].times[i]);
    if (known == keys_[key].versions.end()) {
      return link(key, readers_[1].times[i], versions_.add(hash, {deleted ? 1 : 0}, row));
    }
    versions_[known->second].head.deleted = deleted ? 1 : 0;
    versions_.replace(known->second, row);
    versions_.let_go();
  }
  void link(TemporalKeys::Id key, int64_t time, Versions::Id version) {
    keys_[key].versions.emplace(time, version);
    coming_[time].push_back(key);
  }
  /// The version of a key at a time, or kNone.
  Versions::Id at(const VersionedKey& key, int64_t time) const {
    if (key.null_key) return Versions::kNone;
    const auto behind = key.versions.upper_bound(time);
    if (behind == key.versions.begin()) return Versions::kNone;
    const Versions::Id version = std::prev(behind)->second;
    return versions_[version].head.deleted != 0 ? Versions::kNone : version;
  }

  /// `parts`: of the columns of the right side.
  Status answer(std::span<const WaitingRows::Row> due, std::span<const columnar::KeyPart> parts,
                RowEmitter& rows) {
    found_.clear();
    for (const WaitingRows::Row& row : due) {
      int64_t time = row.time;
      if (time == EventTime::min().millis) {
        STRAND_TRY(const auto times, times_.read(*row.batch, options_.sides[0].time_column, {&row.row, 1}));
        time = times[0];
      }
      found_.push_back(at(keys_[row.key], time));
    }
    if (condition_) STRAND_OK(check_condition(due));
    for (size_t i = 0; i < due.size(); ++i) {
      const WaitingRows::Row& row = due[i];
      const RowKind kind = row.batch->kind(row.row);
      if (found_[i] != Versions::kNone) {
        joined_.append(0, *row.batch, row.row, rows.row());
        columnar::decode_key_parts(versions_.body(found_[i]), parts);
        STRAND_OK(rows.end_row(kind));
        versions_.let_go();
      } else if (options_.outer) {
        joined_.append(0, *row.batch, row.row, rows.row());
        for (size_t c = options_.sides[0].schema->size(); c < options_.output->size(); ++c)
          rows.row().column(c).append_null();
        STRAND_OK(rows.end_row(kind));
      }
      if (--keys_[row.key].waiting == 0 && keys_[row.key].versions.empty()) keys_.erase(row.key);
    }
    return Status();
  }

  /// Forgets those of found_ for which the condition is not TRUE.
  Status check_condition(std::span<const WaitingRows::Row> due) {
    std::vector<uint32_t> asked;
    for (uint32_t i = 0; i < due.size(); ++i) {
      if (found_[i] == Versions::kNone) continue;
      asked.push_back(i);
      joined_.append(0, *due[i].batch, due[i].row, candidates_);
      columnar::decode_key_parts(versions_.body(found_[i]), candidate_parts_);
      candidates_.end_row();
      versions_.let_go();
    }
    if (asked.empty()) return Status();
    STRAND_TRY(const columnar::SelectionPtr kept,
               condition_->select(candidates_.finish(), {context_->now, context_->judge()}));
    if (!kept) return Status();
    size_t next = 0;
    for (uint32_t k = 0; k < asked.size(); ++k) {
      if (next < kept->size() && (*kept)[next] == k) {
        ++next;
      } else {
        found_[asked[k]] = Versions::kNone;
      }
    }
    return Status();
  }

  /// Of the versions that event time has reached only the newest can be asked for.
  void forget(int64_t reached_time) {
    while (!coming_.empty() && coming_.begin()->first <= reached_time) {
      for (const TemporalKeys::Id id : coming_.begin()->second) {
        auto& versions = keys_[id].versions;
        const auto behind = versions.upper_bound(reached_time);
        if (behind == versions.begin()) continue;
        auto newest = std::prev(behind);
        if (versions_[newest->second].head.deleted != 0) newest = behind;
        for (auto old = versions.begin(); old != newest; old = versions.erase(old)) {
          versions_.erase(old->second);
          versions_.let_go();
        }
        if (versions.empty() && keys_[id].waiting == 0) keys_.erase(id);
      }
      coming_.erase(coming_.begin());
    }
  }

  Status restore_waiting(std::string_view bytes) {
    JoinSideReader& reader = readers_[0];
    StoredRowsReader stored(bytes, options_.sides[0].schema);
    while (!stored.done()) {
      auto kinds = std::make_shared<std::vector<uint8_t>>();
      STRAND_TRY(Batch batch, stored.next([&](ByteReader& in) -> Status {
        STRAND_TRY(const uint8_t kind, in.get<uint8_t>());
        kinds->push_back(kind);
        return Status();
      }));
      batch = batch.with_kinds(std::move(kinds));
      STRAND_OK(reader.read(batch));
      waiting_.begin(batch);
      for (size_t i = 0; i < reader.rows.size(); ++i) {
        const int32_t group = columnar::key_group(reader.keys.hashes()[i], context_->max_parallelism);
        if (context_->key_groups.contains(group)) wait(batch, i);
      }
      waiting_.end();
    }
    return Status();
  }

  Status restore_log(const std::vector<state::Section>& logs) {
    STRAND_OK(
        versions_.restore(logs, context_->key_groups, [&](uint64_t hash) { return owns(*context_, hash); }));
    const std::vector<Versions::Id> ids = versions_.ids();
    columnar::BatchBuilder builder(options_.sides[1].schema);
    const auto parts = form_.parts(builder);
    for (size_t from = 0; from < ids.size(); from += kAtOnce) {
      const auto some = std::span(ids).subspan(from, std::min(kAtOnce, ids.size() - from));
      for (const Versions::Id id : some) {
        columnar::decode_key_parts(versions_.body(id), parts);
        builder.end_row();
        versions_.let_go();
      }
      const Batch batch = builder.finish();
      STRAND_OK(readers_[1].read(batch));
      Keys& keys = readers_[1].keys;
      for (size_t i = 0; i < some.size(); ++i)
        link(keys_.find_or_add(keys.hashes()[i], keys.keys()[i]), readers_[1].times[i], some[i]);
    }
    return Status();
  }

  /// Of version 1.
  Status restore_whole(std::string_view bytes) {
    ByteReader in(bytes);
    columnar::BatchBuilder builder(options_.sides[1].schema);
    const RowBytes rows(options_.sides[1].schema->size());
    std::vector<bool> deleted;
    while (in.remaining() > 0) {
      deleted.clear();
      while (in.remaining() > 0 && deleted.size() < kAtOnce) {
        STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
        STRAND_TRY(const int64_t time, in.get<int64_t>());
        STRAND_TRY(const uint8_t is_deleted, in.get<uint8_t>());
        STRAND_TRY(const std::string_view row, in.get_string());
        static_cast<void>(time);
        if (!owns(*context_, stored.hash)) continue;
        rows.decode(row, builder);
        builder.end_row();
        deleted.push_back(is_deleted != 0);
      }
      const Batch batch = builder.finish();
      STRAND_OK(readers_[1].read(batch));
      form_.read(batch, readers_[1].rows);
      for (size_t i = 0; i < deleted.size(); ++i) put_version(i, deleted[i], form_.row(i));
    }
    return Status();
  }

  Status tidy() {
    STRAND_OK(versions_.tidy(key_bytes()));
    update_books();
    return Status();
  }

  void update_books() {
    context_->ledger->set_in_state(waiting_.rows());
    share_.set(state_bytes());
  }

  TemporalJoinOptions options_;
  std::unique_ptr<expr::Evaluator> condition_;  // or null
  OperatorContext* context_ = nullptr;
  WaitingRows waiting_;  // of the left side
  TemporalKeys keys_;
  std::map<int64_t, std::vector<TemporalKeys::Id>> coming_;  // versions that event time has not passed yet
  Versions versions_;
  obs::MemoryShare share_;

  // Scratch memory.
  columnar::BatchBuilder candidates_;
  JoinedColumns joined_;
  std::array<JoinSideReader, 2> readers_;
  KeyedRowBytes form_;  // of the right side
  std::vector<columnar::KeyPart> candidate_parts_;
  Times times_;
  std::vector<Versions::Id> found_;  // of the rows at hand
};

}  // namespace

Result<OperatorPtr> make_temporal_join(TemporalJoinOptions options) {
  std::unique_ptr<expr::Evaluator> condition;
  if (options.condition) {
    STRAND_TRY(condition, expr::compile(options.condition, options.compile));
  }
  return OperatorPtr(std::make_unique<TemporalJoin>(std::move(options), std::move(condition)));
}

}  // namespace strand::ops
