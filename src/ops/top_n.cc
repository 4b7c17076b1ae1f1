#include "ops/top_n.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "ops/kept_output.h"
#include "ops/ranked_rows.h"
#include "ops/row_bytes.h"
#include "state/key_slots.h"
#include "state/logged_rows.h"

namespace strand::ops {

namespace {

using columnar::RowKind;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kTopNVersion = 2;

/// With a TTL, a row's arrival also says when it came: the wall clock is in front of so many bits. Numbers of
/// rows that came without one are far below.
constexpr int kClockShift = 20;
constexpr int64_t kClockMask = (int64_t{1} << kClockShift) - 1;
constexpr int64_t kFirstWithClock = int64_t{1} << 50;

struct TopRow {
  struct Head {
    int64_t arrival = 0;  // rows that are equal in the order have that of their arrival
  };
  Head head;
};
using TopRows = state::LoggedRows<TopRow>;
using TopRanks = RankedRows<TopRows::Id>;
using RankedKeys = state::KeySlots<TopRanks>;

class TopN : public Operator {
 public:
  explicit TopN(TopNOptions options)
      : options_(std::move(options)),
        by_rank_(options_.rank || options_.from > 1 || (options_.to == 1 && !options_.changes)),
        rows_("ranked", kTopNVersion),
        reader_(options_.input, options_.keys) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return rows_.spill_to(context.spill);
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    if (!options_.changes) STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    STRAND_OK(forget());
    const auto list = row_list_.of(batch);
    reader_.read_keys(batch, list);
    KeptOutput changes(options_.output, reader_, out, Port::kMain);
    for (size_t i = 0; i < list.size(); ++i) {
      constexpr size_t kAhead = 8;
      if (i + kAhead < list.size()) ranked_.prefetch(reader_.hash(i + kAhead));
      sort_key_.clear();
      columnar::append_sort_key(batch, options_.order, list[i], sort_key_);
      STRAND_OK(takes_back(batch.kind(list[i])) ? take_back(i, batch, list[i], changes)
                                                : add(i, batch, list[i], changes));
      rows_.let_go();
    }
    STRAND_OK(changes.rows.flush());
    STRAND_OK(rows_.tidy(rank_bytes()));
    context_->ledger->add(Entry::kOut, changes.rows.rows());
    share_.set(state_bytes());
    return Status();
  }

  Status emit_held(Emitter& out) override {
    STRAND_OK(forget());
    KeptOutput held(options_.output, reader_, out, Port::kMain);
    Status status;
    ranked_.for_each([&](RankedKeys::Id id) {
      look_at(ranked_[id], options_.to);
      for (size_t r = 0; r < first_.size() && status.ok(); ++r) {
        status = emit(first_[r], static_cast<int64_t>(r) + 1, RowKind::kInsert, held);
        rows_.let_go();
      }
    });
    STRAND_OK(std::move(status));
    return held.rows.flush();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    rows_.snapshot(out);
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    rows_.written(epoch, refs);
  }
  Status restore(const std::vector<state::Section>& parts) override {
    STRAND_OK(
        rows_.restore(parts, context_->key_groups, [&](uint64_t hash) { return owns(*context_, hash); }));
    std::vector<TopRows::Id> ids;
    rows_.for_each([&](TopRows::Id id) { ids.push_back(id); });
    std::ranges::sort(ids, {}, [&](TopRows::Id id) { return rows_[id].head.arrival; });
    for (size_t from = 0; from < ids.size(); from += kRestored) {
      rank(std::span(ids).subspan(from, std::min(kRestored, ids.size() - from)));
    }
    if (!ids.empty()) arrivals_ = rows_[ids.back()].head.arrival;
    for (const TopRows::Id id : ids) note(id);
    share_.set(state_bytes());
    return Status();
  }

  bool spills() const override { return true; }
  int64_t state_rows() const override { return rows_.size(); }
  int64_t state_bytes() const override { return rows_.memory_bytes() + rank_bytes(); }

 private:
  static constexpr size_t kRestored = 4096;  // rows that are read together

  int64_t rank_bytes() const {
    return ranked_.memory_bytes() + rows_.size() * static_cast<int64_t>(sizeof(TopRanks::Entry)) +
           static_cast<int64_t>(came_.size() * sizeof(Came));
  }
  /// A row of the batch.
  Status add(size_t i, const Batch& batch, uint32_t position, KeptOutput& changes) {
    const RankedKeys::Id id = ranked_.find_or_add(reader_.hash(i), reader_.key(i));
    TopRanks& ranked = ranked_[id];
    const int64_t before = ranked.before(sort_key_, options_.to);
    const bool ranks = before < options_.to;
    context_->ledger->add(ranks || options_.changes ? Entry::kCounted : Entry::kFiltered, 1);
    if (!ranks && !options_.changes) return Status();
    const TopRows::Id added = rows_.add(reader_.hash(i), {next_arrival()}, reader_.one(batch, position));
    note(added);
    if (ranks) {
      look_at(ranked, options_.to);
      STRAND_OK(emit_entry(before, added, changes));
    }
    ranked.add(sort_key_, added);
    if (options_.changes || ranked.size() <= options_.to) return Status();
    rows_.erase(ranked.back().row);
    ranked.drop_last();
    return Status();
  }

  /// A row comes behind the first `before` of first_, which holds the ranks up to `to`.
  Status emit_entry(int64_t before, TopRows::Id row, KeptOutput& changes) {
    const auto count = static_cast<int64_t>(first_.size());
    if (!by_rank_) {
      if (count == options_.to) STRAND_OK(emit(first_.back(), 0, RowKind::kDelete, changes));
      return emit(row, 0, RowKind::kInsert, changes);
    }
    TopRows::Id moved = row;
    for (int64_t at = before; at < count; ++at) {
      STRAND_OK(replace(first_[static_cast<size_t>(at)], moved, at + 1, changes));
      moved = first_[static_cast<size_t>(at)];
    }
    return count < options_.to ? emit(moved, count + 1, RowKind::kInsert, changes) : Status();
  }

  Status take_back(size_t i, const Batch& batch, uint32_t position, KeptOutput& changes) {
    context_->ledger->add(Entry::kCounted, 1);
    const RankedKeys::Id id = ranked_.find(reader_.hash(i), reader_.key(i));
    if (id == RankedKeys::kNone) return Status();
    TopRanks& ranked = ranked_[id];
    look_at(ranked, options_.to + 1);
    const std::string_view row = reader_.one(batch, position);
    const auto same = [&](TopRows::Id each) { return rows_.body(each) == row; };
    STRAND_OK(emit_exit(std::ranges::find_if(first_, same) - first_.begin(), changes));
    TopRows::Id gone = TopRows::kNone;
    const auto take = [&](TopRows::Id each) { return same(each) && (gone = each, true); };
    if (!ranked.remove(sort_key_, take)) return Status();
    rows_.erase(gone);
    if (ranked.size() == 0) ranked_.erase(id);
    return Status();
  }

  /// The row at `at` of first_ goes, which holds one rank more than `to`.
  Status emit_exit(int64_t at, KeptOutput& changes) {
    const auto count = static_cast<int64_t>(first_.size());
    if (at >= std::min(count, options_.to)) return Status();
    const auto row = [&](int64_t index) { return first_[static_cast<size_t>(index)]; };
    if (!by_rank_) {
      STRAND_OK(emit(row(at), 0, RowKind::kDelete, changes));
      return count > options_.to ? emit(row(options_.to), 0, RowKind::kInsert, changes) : Status();
    }
    for (; at + 1 < count; ++at) STRAND_OK(replace(row(at), row(at + 1), at + 1, changes));
    return count <= options_.to ? emit(row(count - 1), count, RowKind::kDelete, changes) : Status();
  }

  void look_at(const TopRanks& ranked, int64_t most) {
    first_.clear();
    ranked.first(most, first_);
  }

  Status replace(TopRows::Id old, TopRows::Id row, int64_t rank, KeptOutput& changes) {
    if (options_.update_before) STRAND_OK(emit(old, rank, RowKind::kUpdateBefore, changes));
    return emit(row, rank, RowKind::kUpdateAfter, changes);
  }

  /// Rank 0: it does not matter.
  Status emit(TopRows::Id row, int64_t rank, RowKind kind, KeptOutput& changes) {
    if (rank != 0 && rank < options_.from) return Status();
    changes.append(rows_.body(row));
    if (options_.rank) changes.rows.row().column(options_.input->size()).append(rank);
    return changes.rows.end_row(kind);
  }

  // ---- what is forgotten by the wall clock

  struct Came {
    int64_t due;      // an arrival: in that order
    int64_t arrival;  // of the row, which may have gone
    TopRows::Id row;
  };
  int64_t next_arrival() {
    const int64_t clock = options_.ttl ? context_->now.millis << kClockShift : 0;
    return arrivals_ = std::max(arrivals_ + 1, clock);
  }
  void note(TopRows::Id row) {
    const int64_t arrival = rows_[row].head.arrival;
    if (options_.ttl && arrival >= kFirstWithClock) came_.push_back({arrival, arrival, row});
  }
  Status forget() {
    if (!options_.ttl) return Status();
    const int64_t until = (context_->now.millis - options_.ttl->millis) << kClockShift | kClockMask;
    while (!came_.empty() && came_.front().due <= until) {
      old_.clear();
      for (; old_.size() < kRestored && !came_.empty() && came_.front().due <= until; came_.pop_front()) {
        const Came& came = came_.front();
        if (rows_.has(came.row) && rows_[came.row].head.arrival == came.arrival) old_.push_back(came.row);
      }
      STRAND_OK(forget(old_));
      STRAND_OK(rows_.tidy(rank_bytes()));
    }
    return Status();
  }
  /// A row stays while there is a newer one that is equal to it in the order.
  Status forget(std::span<const TopRows::Id> ids) {
    const Batch batch = batch_of(ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      if (!rows_.has(ids[i])) continue;  // gone with a newer one
      sort_key_.clear();
      columnar::append_sort_key(batch, options_.order, static_cast<int64_t>(i), sort_key_);
      const RankedKeys::Id key = ranked_.find(rows_.hash(ids[i]), reader_.key_in(rows_.body(ids[i])));
      STRAND_OK(rows_.intact());
      TopRanks& ranked = ranked_[key];
      if (ranked.newest(sort_key_) != ids[i]) {
        came_.push_back({arrivals_, rows_[ids[i]].head.arrival, ids[i]});
        continue;
      }
      const auto take = [&](TopRows::Id each) {
        rows_.erase(each);
        return true;
      };
      while (ranked.remove(sort_key_, take)) rows_.let_go();
      if (ranked.size() == 0) ranked_.erase(key);
    }
    return Status();
  }

  Batch batch_of(std::span<const TopRows::Id> ids) {
    columnar::BatchBuilder builder(options_.input);
    const auto parts = reader_.parts(builder);
    for (const TopRows::Id id : ids) {
      columnar::decode_key_parts(rows_.body(id), parts);
      builder.end_row();
      rows_.let_go();
    }
    return builder.finish();
  }
  /// Rows that were restored, in the order of their arrival.
  void rank(std::span<const TopRows::Id> ids) {
    const Batch batch = batch_of(ids);
    for (size_t i = 0; i < ids.size(); ++i) {
      sort_key_.clear();
      columnar::append_sort_key(batch, options_.order, static_cast<int64_t>(i), sort_key_);
      const TopRows::Id id = ids[i];
      ranked_[ranked_.find_or_add(rows_.hash(id), reader_.key_in(rows_.body(id)))].add(sort_key_, id);
      rows_.let_go();
    }
  }

  TopNOptions options_;
  bool by_rank_;
  OperatorContext* context_ = nullptr;
  TopRows rows_;
  RankedKeys ranked_;
  int64_t arrivals_ = 0;
  std::deque<Came> came_;  // with a TTL, oldest first
  obs::MemoryShare share_;

  // Scratch memory of one batch.
  KeyedRowBytes reader_;
  RowList row_list_;
  std::string sort_key_;
  std::vector<TopRows::Id> first_;
  std::vector<TopRows::Id> old_;
};

}  // namespace

Result<OperatorPtr> make_top_n(TopNOptions options) {
  STRAND_CHECK(options.from >= 1 && options.from <= options.to);
  return OperatorPtr(std::make_unique<TopN>(std::move(options)));
}

}  // namespace strand::ops
