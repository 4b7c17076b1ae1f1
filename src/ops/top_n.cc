#include "ops/top_n.h"

#include <algorithm>
#include <map>
#include <memory>

#include "ops/keys.h"
#include "ops/ranked_rows.h"
#include "ops/row_bytes.h"
#include "ops/rows.h"
#include "state/key_slots.h"

namespace strand::ops {

namespace {

using columnar::RowKind;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kTopNVersion = 1;

using RankedKeys = state::KeySlots<RankedRows>;

class TopN : public Operator {
 public:
  explicit TopN(TopNOptions options)
      : options_(std::move(options)),
        by_rank_(options_.rank || options_.from > 1 || (options_.to == 1 && !options_.changes)),
        reader_(options_.input, options_.keys),
        rows_(options_.input->size()) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    if (!options_.changes) STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto list = row_list_.of(batch);
    reader_.read(batch, list);
    RowEmitter changes(options_.output, out, Port::kMain);
    for (size_t i = 0; i < list.size(); ++i) {
      std::string sort_key;
      columnar::append_sort_key(batch, options_.order, list[i], sort_key);
      const uint64_t hash = reader_.hashes()[i];
      const std::string_view key = reader_.keys()[i];
      if (takes_back(batch.kind(list[i]))) {
        STRAND_OK(take_back(hash, key, sort_key, rows_.encode(batch, list[i]), changes));
      } else {
        STRAND_OK(add(batch, list[i], ranked_.find_or_add(hash, key), std::move(sort_key), changes));
      }
    }
    STRAND_OK(changes.flush());
    context_->ledger->add(Entry::kOut, changes.rows());
    share_.set(state_bytes());
    return Status();
  }

  Status emit_held(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    Status status;
    ranked_.for_each([&](RankedKeys::Id id) {
      const auto first = ranked_[id].first(options_.to);
      for (size_t r = 1; r <= first.size() && status.ok(); ++r) {
        status = emit(*first[r - 1], static_cast<int64_t>(r), RowKind::kInsert, rows);
      }
    });
    STRAND_OK(std::move(status));
    return rows.flush();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter bytes;
    ranked_.for_each([&](RankedKeys::Id id) {
      ranked_.encode_key(id, bytes);
      bytes.put(ranked_[id].size());
      ranked_[id].for_each([&](const std::string& sort_key, const std::string& row) {
        bytes.put_string(sort_key);
        bytes.put_string(row);
      });
    });
    out.add("ranked", kTopNVersion, bytes.take());
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kTopNVersion));
      ByteReader in(part.bytes());
      while (in.remaining() > 0) STRAND_OK(restore_key(in));
    }
    share_.set(state_bytes());
    return Status();
  }

  int64_t state_rows() const override { return row_count_; }
  int64_t state_bytes() const override {
    return ranked_.memory_bytes() + row_bytes_ + row_count_ * kRankedRowBytes;
  }

 private:
  Status add(const Batch& batch, uint32_t row, RankedKeys::Id id, std::string sort_key, RowEmitter& changes) {
    RankedRows& ranked = ranked_[id];
    const int64_t before = ranked.before(sort_key, options_.to);
    const bool ranks = before < options_.to;
    context_->ledger->add(ranks || options_.changes ? Entry::kCounted : Entry::kFiltered, 1);
    if (!ranks && !options_.changes) return Status();
    std::string bytes = rows_.encode(batch, row);
    if (ranks) STRAND_OK(emit_entry(ranked.first(options_.to), before, bytes, changes));
    row_bytes_ += static_cast<int64_t>(sort_key.size() + bytes.size());
    ++row_count_;
    ranked.add(std::move(sort_key), std::move(bytes));
    if (options_.changes || ranked.size() <= options_.to) return Status();
    row_bytes_ -= static_cast<int64_t>(ranked.drop_last());
    --row_count_;
    return Status();
  }

  /// A row comes behind the first `before` of `old`, which holds the ranks up to `to`.
  Status emit_entry(const std::vector<const std::string*>& old, int64_t before, const std::string& row,
                    RowEmitter& changes) {
    const auto count = static_cast<int64_t>(old.size());
    if (!by_rank_) {
      if (count == options_.to) STRAND_OK(emit(*old.back(), 0, RowKind::kDelete, changes));
      return emit(row, 0, RowKind::kInsert, changes);
    }
    const std::string* moved = &row;
    for (int64_t at = before; at < count; ++at) {
      STRAND_OK(replace(*old[static_cast<size_t>(at)], *moved, at + 1, changes));
      moved = old[static_cast<size_t>(at)];
    }
    return count < options_.to ? emit(*moved, count + 1, RowKind::kInsert, changes) : Status();
  }

  Status take_back(uint64_t hash, std::string_view key, const std::string& sort_key, const std::string& row,
                   RowEmitter& changes) {
    context_->ledger->add(Entry::kCounted, 1);
    const RankedKeys::Id id = ranked_.find(hash, key);
    if (id == RankedKeys::kNone) return Status();
    RankedRows& ranked = ranked_[id];
    const auto first = ranked.first(options_.to + 1);
    const auto at = std::ranges::find_if(first, [&](const std::string* each) { return *each == row; });
    STRAND_OK(emit_exit(first, at - first.begin(), changes));
    if (!ranked.remove(sort_key, row)) return Status();
    row_bytes_ -= static_cast<int64_t>(sort_key.size() + row.size());
    --row_count_;
    if (ranked.size() == 0) ranked_.erase(id);
    return Status();
  }

  /// The row at `at` of `old` goes; `old` holds one rank more than `to`.
  Status emit_exit(const std::vector<const std::string*>& old, int64_t at, RowEmitter& changes) {
    const auto count = static_cast<int64_t>(old.size());
    if (at >= std::min(count, options_.to)) return Status();
    const auto row = [&](int64_t index) -> const std::string& { return *old[static_cast<size_t>(index)]; };
    if (!by_rank_) {
      STRAND_OK(emit(row(at), 0, RowKind::kDelete, changes));
      return count > options_.to ? emit(row(options_.to), 0, RowKind::kInsert, changes) : Status();
    }
    for (; at + 1 < count; ++at) STRAND_OK(replace(row(at), row(at + 1), at + 1, changes));
    return count <= options_.to ? emit(row(count - 1), count, RowKind::kDelete, changes) : Status();
  }

  Status replace(const std::string& old, const std::string& row, int64_t rank, RowEmitter& changes) {
    if (options_.update_before) STRAND_OK(emit(old, rank, RowKind::kUpdateBefore, changes));
    return emit(row, rank, RowKind::kUpdateAfter, changes);
  }

  /// Rank 0: it does not matter.
  Status emit(const std::string& row, int64_t rank, RowKind kind, RowEmitter& changes) {
    if (rank != 0 && rank < options_.from) return Status();
    rows_.decode(row, changes.row());
    if (options_.rank) changes.row().column(options_.input->size()).append(rank);
    return changes.end_row(kind);
  }

  Status restore_key(ByteReader& in) {
    STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
    STRAND_TRY(const int64_t rows, in.get<int64_t>());
    const bool mine =
        context_->key_groups.contains(columnar::key_group(stored.hash, context_->max_parallelism));
    const RankedKeys::Id id = mine ? ranked_.find_or_add(stored.hash, stored.key) : RankedKeys::kNone;
    for (int64_t i = 0; i < rows; ++i) {
      STRAND_TRY(const std::string_view sort_key, in.get_string());
      STRAND_TRY(const std::string_view row, in.get_string());
      if (!mine) continue;
      ranked_[id].add(std::string(sort_key), std::string(row));
      row_bytes_ += static_cast<int64_t>(sort_key.size() + row.size());
      ++row_count_;
    }
    return Status();
  }

  TopNOptions options_;
  bool by_rank_;
  OperatorContext* context_ = nullptr;
  RankedKeys ranked_;
  int64_t row_count_ = 0;
  int64_t row_bytes_ = 0;
  obs::MemoryShare share_;

  // Scratch memory of one batch.
  Keys reader_;
  RowList row_list_;
  RowBytes rows_;
};

}  // namespace

Result<OperatorPtr> make_top_n(TopNOptions options) {
  STRAND_CHECK(options.from >= 1 && options.from <= options.to);
  return OperatorPtr(std::make_unique<TopN>(std::move(options)));
}

}  // namespace strand::ops
