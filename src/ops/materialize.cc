#include "ops/materialize.h"

#include <algorithm>

#include "ops/keys.h"
#include "ops/row_bytes.h"
#include "ops/rows.h"
#include "state/key_slots.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using columnar::RowKind;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kMaterializeVersion = 1;
constexpr int64_t kStandingRowBytes = 32;  // of a row beside its bytes, about

class Materialize : public Operator {
 public:
  explicit Materialize(MaterializeOptions options)
      : options_(std::move(options)), reader_(options_.input, options_.keys), rows_(options_.input->size()) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    context_->ledger->add(Entry::kIn, batch.rows());
    context_->ledger->add(Entry::kCounted, batch.rows());
    const auto list = row_list_.of(batch);
    reader_.read(batch, list);
    RowEmitter changes(options_.input, out, Port::kMain);
    for (size_t i = 0; i < list.size(); ++i) {
      std::string row = rows_.encode(batch, list[i]);
      if (takes_back(batch.kind(list[i]))) {
        STRAND_OK(take_back(keys_.find(reader_.hashes()[i], reader_.keys()[i]), row, changes));
      } else {
        auto& standing = keys_[keys_.find_or_add(reader_.hashes()[i], reader_.keys()[i])];
        STRAND_OK(emit(row, standing.empty() ? RowKind::kInsert : RowKind::kUpdateAfter, changes));
        put(standing, std::move(row));
      }
    }
    STRAND_OK(changes.flush());
    context_->ledger->add(Entry::kOut, changes.rows());
    share_.set(state_bytes());
    return Status();
  }

  Status emit_held(Emitter& out) override {
    RowEmitter rows(options_.input, out, Port::kMain);
    Status status;
    keys_.for_each([&](StandingKeys::Id id) {
      if (status.ok()) status = emit(keys_[id].back(), RowKind::kInsert, rows);
    });
    STRAND_OK(std::move(status));
    return rows.flush();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter bytes;
    keys_.for_each([&](StandingKeys::Id id) {
      for (const std::string& row : keys_[id]) {
        keys_.encode_key(id, bytes);
        bytes.put_string(row);
      }
    });
    out.add("rows", kMaterializeVersion, bytes.take());
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kMaterializeVersion));
      ByteReader in(part.bytes());
      while (in.remaining() > 0) {
        STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
        STRAND_TRY(const std::string_view row, in.get_string());
        const int32_t group = columnar::key_group(stored.hash, context_->max_parallelism);
        if (!context_->key_groups.contains(group)) continue;
        put(keys_[keys_.find_or_add(stored.hash, stored.key)], std::string(row));
      }
    }
    share_.set(state_bytes());
    return Status();
  }

  int64_t state_rows() const override { return row_count_; }
  int64_t state_bytes() const override {
    return keys_.memory_bytes() + row_bytes_ + row_count_ * kStandingRowBytes;
  }

 private:
  using StandingKeys = state::KeySlots<std::vector<std::string>>;  // the last one stands in the table

  void put(std::vector<std::string>& standing, std::string row) {
    row_bytes_ += static_cast<int64_t>(row.size());
    ++row_count_;
    standing.push_back(std::move(row));
  }

  Status take_back(StandingKeys::Id id, const std::string& row, RowEmitter& changes) {
    if (id == StandingKeys::kNone) return Status();
    auto& standing = keys_[id];
    const auto found = std::find(standing.rbegin(), standing.rend(), row);
    if (found == standing.rend()) return Status();
    const bool last = found == standing.rbegin();
    standing.erase(std::next(found).base());
    row_bytes_ -= static_cast<int64_t>(row.size());
    --row_count_;
    if (standing.empty()) {
      keys_.erase(id);
      return emit(row, RowKind::kDelete, changes);
    }
    return last ? emit(standing.back(), RowKind::kUpdateAfter, changes) : Status();
  }

  Status emit(const std::string& row, RowKind kind, RowEmitter& changes) {
    rows_.decode(row, changes.row());
    return changes.end_row(kind);
  }

  MaterializeOptions options_;
  OperatorContext* context_ = nullptr;
  StandingKeys keys_;
  int64_t row_count_ = 0;
  int64_t row_bytes_ = 0;
  obs::MemoryShare share_;

  // Scratch memory of one batch.
  Keys reader_;
  RowList row_list_;
  RowBytes rows_;
};

}  // namespace

Result<OperatorPtr> make_materialize(MaterializeOptions options) {
  return OperatorPtr(std::make_unique<Materialize>(std::move(options)));
}

}  // namespace strand::ops
