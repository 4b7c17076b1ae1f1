#include "ops/temporal_join.h"

#include <algorithm>
#include <map>

#include "ops/join_sides.h"
#include "ops/row_bytes.h"
#include "ops/rows.h"
#include "ops/stored_rows.h"
#include "ops/waiting_rows.h"
#include "state/key_slots.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using columnar::RowKind;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kTemporalJoinVersion = 1;
constexpr const char* kWaitingSection = "waiting";
constexpr const char* kVersionsSection = "versions";
constexpr int64_t kVersionBytes = 96;  // of a version beside its row, about

/// What a key has been since a time.
struct Version {
  bool deleted = false;
  std::string row;  // of the right side
};
struct VersionedKey {
  std::map<int64_t, Version> versions;  // by event time
  int64_t waiting = 0;                  // rows of the left side
  bool null_key = false;
};

class TemporalJoin : public Operator {
 public:
  TemporalJoin(TemporalJoinOptions options, std::unique_ptr<expr::Evaluator> condition)
      : options_(std::move(options)),
        condition_(std::move(condition)),
        candidates_(options_.pairs),
        joined_(options_.sides[0].schema, options_.sides[1].schema),
        readers_{reader_of(options_.sides[0]), reader_of(options_.sides[1])},
        right_rows_(options_.sides[1].schema->size()) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
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
      for (size_t i = 0; i < reader.rows.size(); ++i) add_version(batch, i);
    }
    update_books();
    return Status();
  }

  Status advance(Emitter& out) override {
    const std::vector<WaitingRows::Row> due = waiting_.take(context_->watermark.millis);
    RowEmitter rows(options_.output, out, Port::kMain);
    for (size_t from = 0; from < due.size(); from += kAtOnce) {
      STRAND_OK(answer(std::span(due).subspan(from, std::min(kAtOnce, due.size() - from)), rows));
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kCounted, static_cast<int64_t>(due.size()));
    context_->ledger->add(Entry::kOut, rows.rows());
    forget(context_->before_end.millis);
    update_books();
    return Status();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    StoredRowsWriter waiting(options_.sides[0].schema);
    waiting_.for_each([&](const WaitingRows::Row& row) {
      waiting.put(static_cast<uint8_t>(row.batch->kind(row.row)));
      waiting.row(*row.batch, row.row);
    });
    out.add(kWaitingSection, kTemporalJoinVersion, waiting.take());
    ByteWriter versions;
    keys_.for_each([&](TemporalKeys::Id id) {
      for (const auto& [time, version] : keys_[id].versions) {
        keys_.encode_key(id, versions);
        versions.put(time);
        versions.put(static_cast<uint8_t>(version.deleted));
        versions.put_string(version.row);
      }
    });
    out.add(kVersionsSection, kTemporalJoinVersion, versions.take());
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kTemporalJoinVersion));
      STRAND_OK(part.ref.name == kWaitingSection ? restore_waiting(part.bytes())
                                                 : restore_versions(part.bytes()));
    }
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return true; }
  int64_t state_rows() const override { return waiting_.rows() + versions_; }
  int64_t state_bytes() const override {
    return waiting_.memory_bytes() + keys_.memory_bytes() + version_bytes_ + versions_ * kVersionBytes;
  }

 private:
  using TemporalKeys = state::KeySlots<VersionedKey>;
  static constexpr size_t kAtOnce = 4'096;  // candidates of the condition

  static JoinSideReader reader_of(const TemporalJoinOptions::Side& side) {
    return JoinSideReader(side.schema, side.keys, side.time_column);
  }

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
    put_version(reader.keys.hashes()[i], reader.keys.keys()[i], reader.times[i],
                {kind == RowKind::kDelete, right_rows_.encode(batch, reader.rows[i])});
  }
  void put_version(uint64_t hash, std::string_view key, int64_t time, Version version) {
    const TemporalKeys::Id id = keys_.find_or_add(hash, key);
    auto& versions = keys_[id].versions;
    version_bytes_ += static_cast<int64_t>(version.row.size());
    const auto [at, added] = versions.try_emplace(time);
    if (added) {
      ++versions_;
      coming_[time].push_back(id);
    } else {
      version_bytes_ -= static_cast<int64_t>(at->second.row.size());
    }
    at->second = std::move(version);
  }

  /// The version of a key at a time; null if there is none.
  const Version* at(const VersionedKey& key, int64_t time) const {
    if (key.null_key) return nullptr;
    const auto behind = key.versions.upper_bound(time);
    if (behind == key.versions.begin()) return nullptr;
    const Version& version = std::prev(behind)->second;
    return version.deleted ? nullptr : &version;
  }

  Status answer(std::span<const WaitingRows::Row> due, RowEmitter& rows) {
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
      if (found_[i] != nullptr) {
        joined_.append(0, *row.batch, row.row, rows.row());
        right_rows_.decode(found_[i]->row, rows.row(), options_.sides[0].schema->size());
        STRAND_OK(rows.end_row(kind));
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
      if (found_[i] == nullptr) continue;
      asked.push_back(i);
      joined_.append(0, *due[i].batch, due[i].row, candidates_);
      right_rows_.decode(found_[i]->row, candidates_, options_.sides[0].schema->size());
      candidates_.end_row();
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
        found_[asked[k]] = nullptr;
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
        if (newest->second.deleted) newest = behind;
        for (auto old = versions.begin(); old != newest; old = versions.erase(old)) {
          version_bytes_ -= static_cast<int64_t>(old->second.row.size());
          --versions_;
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

  Status restore_versions(std::string_view bytes) {
    ByteReader in(bytes);
    while (in.remaining() > 0) {
      STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
      STRAND_TRY(const int64_t time, in.get<int64_t>());
      STRAND_TRY(const uint8_t deleted, in.get<uint8_t>());
      STRAND_TRY(const std::string_view row, in.get_string());
      const int32_t group = columnar::key_group(stored.hash, context_->max_parallelism);
      if (!context_->key_groups.contains(group)) continue;
      put_version(stored.hash, stored.key, time, {deleted != 0, std::string(row)});
    }
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
  int64_t versions_ = 0;
  int64_t version_bytes_ = 0;
  obs::MemoryShare share_;

  // Scratch memory.
  columnar::BatchBuilder candidates_;
  JoinedColumns joined_;
  std::array<JoinSideReader, 2> readers_;
  RowBytes right_rows_;
  Times times_;
  std::vector<const Version*> found_;  // of the rows at hand
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
