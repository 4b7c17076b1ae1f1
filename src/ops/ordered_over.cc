#include "ops/ordered_over.h"

#include <algorithm>
#include <array>
#include <memory>

#include "ops/keys.h"
#include "ops/row_bytes.h"
#include "ops/rows.h"
#include "state/change_accumulators.h"
#include "state/key_slots.h"

namespace strand::ops {

namespace {

using columnar::RowKind;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kOrderedOverVersion = 1;
constexpr const char* kRowsSection = "rows";
constexpr const char* kExpiriesSection = "expiries";  // with a TTL
constexpr int64_t kForgetFrom = 4096;                 // keys from which expired ones are looked for

struct OrderedRow {
  std::string order;   // bytes that sort as the rows do
  std::string row;     // all its columns
  std::string share;   // what it adds to the aggregates
  std::string result;  // as last emitted
};
using OrderedRows = std::vector<OrderedRow>;  // sorted; peers as they came
struct OrderedKey {
  OrderedRows rows;
  WallTime expiry = WallTime::never();
};

columnar::SchemaPtr result_columns(const OverOptions& options) {
  std::vector<columnar::Field> fields;
  for (size_t i = options.input->size(); i < options.output->size(); ++i)
    fields.push_back((*options.output)[i]);
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

class OrderedOver : public Operator {
 public:
  explicit OrderedOver(OverOptions options)
      : options_(std::move(options)),
        aggregates_(accumulator_specs(options_.aggregates), /*takes_back=*/false),
        rows_(options_.input->size()),
        results_(options_.output->size() - options_.input->size()),
        reader_(options_.input, options_.keys),
        result_(result_columns(options_)) {}

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
    forget();
    RowEmitter rows(options_.output, out, Port::kMain);
    for (size_t i = 0; i < list.size(); ++i) {
      const auto id = keys_.find_or_add(reader_.hashes()[i], reader_.keys()[i]);
      OrderedKey& key = keys_[id];
      if (forgotten(key)) clear(key);
      if (options_.ttl) key.expiry = context_->now + *options_.ttl;
      STRAND_OK(takes_back(batch.kind(list[i])) ? remove(batch, list[i], key.rows, rows)
                                                : insert(batch, list[i], key.rows, rows));
      if (key.rows.empty()) keys_.erase(id);
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kCounted, batch.rows());
    context_->ledger->add(Entry::kOut, rows.rows());
    share_.set(state_bytes());
    return Status();
  }

  Status emit_held(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    Status status;
    keys_.for_each([&](Keyed::Id id) {
      if (forgotten(keys_[id])) return;
      for (const OrderedRow& row : keys_[id].rows) {
        if (status.ok()) status = emit(row, row.result, RowKind::kInsert, rows);
      }
    });
    STRAND_OK(std::move(status));
    return rows.flush();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter bytes;
    ByteWriter expiries;
    keys_.for_each([&](Keyed::Id id) {
      keys_.encode_key(id, expiries);
      expiries.put(keys_[id].expiry.millis);
      for (const OrderedRow& row : keys_[id].rows) {
        keys_.encode_key(id, bytes);
        for (const std::string* part : {&row.order, &row.row, &row.share, &row.result})
          bytes.put_string(*part);
      }
    });
    out.add(kRowsSection, kOrderedOverVersion, bytes.take());
    if (options_.ttl) out.add(kExpiriesSection, kOrderedOverVersion, expiries.take());
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kOrderedOverVersion));
      STRAND_OK(part.ref.name == kRowsSection ? restore_rows(part.bytes()) : restore_expiries(part.bytes()));
    }
    // Those of a state that was written without a TTL live from now on.
    keys_.for_each([&](Keyed::Id id) {
      if (options_.ttl && keys_[id].expiry == WallTime::never())
        keys_[id].expiry = context_->now + *options_.ttl;
    });
    share_.set(state_bytes());
    return Status();
  }

  int64_t state_rows() const override { return kept_; }
  int64_t state_bytes() const override { return keys_.memory_bytes() + bytes_; }

 private:
  using Keyed = state::KeySlots<OrderedKey>;

  Status restore_rows(std::string_view bytes) {
    ByteReader in(bytes);
    while (in.remaining() > 0) {
      STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
      OrderedRow row;
      STRAND_TRY(row.order, in.get_string());
      STRAND_TRY(row.row, in.get_string());
      STRAND_TRY(row.share, in.get_string());
      STRAND_TRY(row.result, in.get_string());
      if (!owns(*context_, stored.hash)) continue;
      count(row, 1);
      keys_[keys_.find_or_add(stored.hash, stored.key)].rows.push_back(std::move(row));
    }
    return Status();
  }
  Status restore_expiries(std::string_view bytes) {
    ByteReader in(bytes);
    while (in.remaining() > 0) {
      STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
      STRAND_TRY(const int64_t expiry, in.get<int64_t>());
      if (!options_.ttl || !owns(*context_, stored.hash)) continue;
      keys_[keys_.find_or_add(stored.hash, stored.key)].expiry = WallTime{expiry};
    }
    return Status();
  }

  bool forgotten(const OrderedKey& key) const { return key.expiry <= context_->now; }
  void clear(OrderedKey& key) {
    for (const OrderedRow& row : key.rows) count(row, -1);
    key.rows.clear();
  }
  /// Looks at all keys once they are twice as many as were left last time.
  void forget() {
    if (!options_.ttl || keys_.size() < forget_at_) return;
    std::vector<Keyed::Id> old;
    keys_.for_each([&](Keyed::Id id) {
      if (forgotten(keys_[id])) old.push_back(id);
    });
    for (const Keyed::Id id : old) {
      clear(keys_[id]);
      keys_.erase(id);
    }
    forget_at_ = std::max(kForgetFrom, 2 * keys_.size());
  }

  void count(const OrderedRow& row, int64_t sign) {
    kept_ += sign;
    bytes_ += sign * static_cast<int64_t>(sizeof row + row.order.size() + row.row.size() + row.share.size() +
                                          row.result.size());
  }

  Status insert(const Batch& batch, uint32_t row, OrderedRows& all, RowEmitter& rows) {
    OrderedRow fresh;
    columnar::append_sort_key(batch, options_.order, row, fresh.order);
    fresh.row = rows_.encode(batch, row);
    aggregates_.append_share(batch, row, fresh.share);
    const auto at = std::ranges::upper_bound(all, fresh.order, {}, &OrderedRow::order);
    const auto position = at - all.begin();
    all.insert(at, std::move(fresh));
    std::vector<std::string> results = results_of(all);
    OrderedRow& here = all[static_cast<size_t>(position)];
    here.result = results[static_cast<size_t>(position)];
    count(here, 1);
    STRAND_OK(emit(here, here.result, batch.kind(row), rows));
    return emit_changed(all, results, rows);
  }

  Status remove(const Batch& batch, uint32_t row, OrderedRows& all, RowEmitter& rows) {
    const std::string gone = rows_.encode(batch, row);
    const auto found = std::ranges::find(all, gone, &OrderedRow::row);
    if (found == all.end()) return Status();
    STRAND_OK(emit(*found, found->result, RowKind::kDelete, rows));
    count(*found, -1);
    all.erase(found);
    std::vector<std::string> results = results_of(all);
    return emit_changed(all, results, rows);
  }

  Status emit_changed(OrderedRows& all, std::vector<std::string>& results, RowEmitter& rows) {
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i].result == results[i]) continue;
      if (options_.update_before) STRAND_OK(emit(all[i], all[i].result, RowKind::kUpdateBefore, rows));
      count(all[i], -1);
      all[i].result = std::move(results[i]);
      count(all[i], 1);
      STRAND_OK(emit(all[i], all[i].result, RowKind::kUpdateAfter, rows));
    }
    return Status();
  }

  /// Of each row, as bytes.
  std::vector<std::string> results_of(const OrderedRows& all) {
    state::ChangeAccumulators::State state;
    int64_t different = 0;
    for (size_t from = 0, to = 0; from < all.size(); from = to) {
      ++different;
      while (to < all.size() && all[to].order == all[from].order) ++to;
      if (options_.range) {
        for (size_t i = from; i < to; ++i) aggregates_.add(all[i].share, state);
      }
      for (size_t i = from; i < to; ++i) {
        if (!options_.range) aggregates_.add(all[i].share, state);
        aggregates_.append_results(state, result_, 0);
        append_ranks({i + 1, from + 1, static_cast<size_t>(different)});
        result_.end_row();
      }
    }
    const Batch batch = result_.finish();
    std::vector<std::string> results;
    for (int64_t row = 0; row < batch.rows(); ++row) results.push_back(results_.encode(batch, row));
    return results;
  }

  /// By RankKind.
  void append_ranks(const std::array<size_t, 3>& ranks) {
    for (size_t i = 0; i < options_.ranks.size(); ++i) {
      result_.column(aggregates_.size() + i)
          .append(static_cast<int64_t>(ranks[static_cast<size_t>(options_.ranks[i])]));
    }
  }

  Status emit(const OrderedRow& row, const std::string& result, RowKind kind, RowEmitter& rows) {
    rows_.decode(row.row, rows.row());
    results_.decode(result, rows.row(), options_.input->size());
    return rows.end_row(kind);
  }

  OverOptions options_;
  state::ChangeAccumulators aggregates_;
  RowBytes rows_;
  RowBytes results_;
  OperatorContext* context_ = nullptr;
  Keyed keys_;
  int64_t kept_ = 0;
  int64_t bytes_ = 0;
  int64_t forget_at_ = kForgetFrom;
  obs::MemoryShare share_;

  // Scratch memory of one batch.
  Keys reader_;
  RowList row_list_;
  columnar::BatchBuilder result_;
};

}  // namespace

Result<OperatorPtr> make_ordered_over(OverOptions options) {
  STRAND_CHECK(!options.order.empty() && !options.time_column && !options.preceding);
  return OperatorPtr(std::make_unique<OrderedOver>(std::move(options)));
}

}  // namespace strand::ops
