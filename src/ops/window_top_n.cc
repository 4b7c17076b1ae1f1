#include "ops/window_top_n.h"

#include <map>

#include "expr/zone.h"
#include "ops/keys.h"
#include "ops/ranked_rows.h"
#include "ops/row_bytes.h"
#include "ops/rows.h"
#include "state/key_slots.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;
using WindowRanks = RankedRows<std::string>;  // of the bytes of rows

constexpr int32_t kWindowTopNVersion = 1;
constexpr int64_t kRankedRowBytes = sizeof(WindowRanks::Entry);  // of a row beside its bytes

class WindowTopN : public Operator {
 public:
  WindowTopN(WindowTopNOptions options, expr::Zone zone)
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
    STRAND_TRY(const auto starts, starts_.read(batch, options_.window_start, list));
    STRAND_TRY(const auto ends, ends_.read(batch, options_.window_end, list));
    late_.clear();
    for (size_t i = 0; i < list.size(); ++i) {
      const uint64_t hash = reader_.hashes()[i];
      const EventTime judge = context_->judge(columnar::key_group(hash, context_->max_parallelism));
      if (reached(last_of(ends[i]), judge)) {
        late_.push_back(list[i]);
      } else {
        WindowKeys& window = windows_[{ends[i], starts[i]}];
        add(window[window.find_or_add(hash, reader_.keys()[i])], batch, list[i]);
      }
    }
    update_books();
    context_->ledger->add(Entry::kLate, static_cast<int64_t>(late_.size()));
    if (late_.empty() || !out.wanted(Port::kLate)) return Status();
    return out.emit(Port::kLate, batch.with_selection(std::make_shared<const columnar::Selection>(late_)));
  }

  Status advance(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    while (!windows_.empty() && reached(last_of(windows_.begin()->first.first), context_->watermark)) {
      const auto window = windows_.extract(windows_.begin());
      newest_ = std::max(newest_, last_of(window.key().first));
      Status status;
      window.mapped().for_each([&](WindowKeys::Id id) {
        if (status.ok()) status = emit(window.mapped()[id], rows);
      });
      STRAND_OK(std::move(status));
    }
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    update_books();
    return Status();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter bytes;
    for (const auto& [bounds, keys] : windows_) {
      keys.for_each([&](WindowKeys::Id id) {
        bytes.put(bounds.first);
        bytes.put(bounds.second);
        keys.encode_key(id, bytes);
        bytes.put(keys[id].size());
        keys[id].for_each([&](const WindowRanks::Entry& entry) {
          bytes.put_string(entry.sort_key);
          bytes.put_string(entry.row);
        });
      });
    }
    out.add("windows", kWindowTopNVersion, bytes.take());
    return Status();
  }

  Status restore(const std::vector<state::Section>& parts) override {
    for (const state::Section& part : parts) {
      STRAND_OK(state::check_version(part.ref, kWindowTopNVersion));
      ByteReader in(part.bytes());
      while (in.remaining() > 0) STRAND_OK(restore_key(in));
    }
    update_books();
    return Status();
  }

  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return newest_; }
  int64_t state_rows() const override { return row_count_; }
  int64_t state_bytes() const override {
    int64_t bytes = row_bytes_ + row_count_ * kRankedRowBytes;
    for (const auto& [bounds, keys] : windows_) bytes += keys.memory_bytes();
    return bytes;
  }

 private:
  using WindowKeys = state::KeySlots<WindowRanks>;

  EventTime last_of(int64_t end) const { return EventTime{zone_.utc_of(end) - 1}; }

  void add(WindowRanks& ranked, const Batch& batch, uint32_t row) {
    sort_key_.clear();
    columnar::append_sort_key(batch, options_.order, row, sort_key_);
    if (ranked.size() == options_.to) {
      const int order = sort_key_.compare(ranked.back().sort_key);
      const bool enters = order < 0 || (order == 0 && options_.last_of_equal);
      context_->ledger->add(enters ? Entry::kCounted : Entry::kFiltered, 1);
      if (!enters) return;
      row_bytes_ -= bytes_of(ranked.back());
      ranked.drop_last();
      --row_count_;
    }
    put(ranked, sort_key_, rows_.encode(batch, row));
  }
  static int64_t bytes_of(const WindowRanks::Entry& entry) {
    return static_cast<int64_t>(entry.sort_key.size() + entry.row.size());
  }
  void put(WindowRanks& ranked, std::string_view sort_key, std::string row) {
    row_bytes_ += static_cast<int64_t>(sort_key.size() + row.size());
    ++row_count_;
    ranked.add(sort_key, std::move(row));
  }

  Status emit(const WindowRanks& ranked, RowEmitter& rows) {
    int64_t rank = 0;
    Status status;
    ranked.for_each([&](const WindowRanks::Entry& entry) {
      row_bytes_ -= bytes_of(entry);
      if (++rank < options_.from || !status.ok()) return;
      rows_.decode(entry.row, rows.row());
      if (options_.rank) rows.row().column(options_.input->size()).append(rank);
      status = rows.end_row();
    });
    row_count_ -= rank;
    context_->ledger->add(Entry::kCounted, rank);
    return status;
  }

  Status restore_key(ByteReader& in) {
    STRAND_TRY(const int64_t end, in.get<int64_t>());
    STRAND_TRY(const int64_t start, in.get<int64_t>());
    STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
    STRAND_TRY(const int64_t rows, in.get<int64_t>());
    const bool mine =
        context_->key_groups.contains(columnar::key_group(stored.hash, context_->max_parallelism));
    for (int64_t i = 0; i < rows; ++i) {
      STRAND_TRY(const std::string_view sort_key, in.get_string());
      STRAND_TRY(const std::string_view row, in.get_string());
      if (!mine) continue;
      WindowKeys& window = windows_[{end, start}];
      put(window[window.find_or_add(stored.hash, stored.key)], sort_key, std::string(row));
    }
    return Status();
  }

  void update_books() {
    context_->ledger->set_in_state(row_count_);
    share_.set(state_bytes());
  }

  WindowTopNOptions options_;
  expr::Zone zone_;
  OperatorContext* context_ = nullptr;
  std::map<std::pair<int64_t, int64_t>, WindowKeys> windows_;  // by local end and start
  int64_t row_count_ = 0;
  int64_t row_bytes_ = 0;
  EventTime newest_ = EventTime::min();
  obs::MemoryShare share_;

  // Scratch memory of one batch.
  Keys reader_;
  RowList row_list_;
  Times starts_;
  Times ends_;
  RowBytes rows_;
  std::string sort_key_;
  std::vector<uint32_t> late_;
};

}  // namespace

Result<OperatorPtr> make_window_top_n(WindowTopNOptions options) {
  STRAND_CHECK(options.from >= 1 && options.from <= options.to);
  STRAND_TRY(expr::Zone zone, expr::Zone::load(options.zone));
  return OperatorPtr(std::make_unique<WindowTopN>(std::move(options), std::move(zone)));
}

}  // namespace strand::ops
