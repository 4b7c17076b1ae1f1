#include "ops/window_top_n.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "expr/zone.h"
#include "ops/kept_output.h"
#include "ops/ranked_rows.h"
#include "ops/row_bytes.h"
#include "state/key_slots.h"
#include "state/logged_rows.h"

namespace strand::ops {

namespace {

using columnar::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kWindowTopNVersion = 2;
constexpr const char* kWholeRanksSection = "windows";  // of version 1

struct WindowTopRow {
  struct Head {
    int64_t key = 0;  // in the order in which keys came
    int64_t arrival = 0;
  };
  Head head;
};
using WindowTopRows = state::LoggedRows<WindowTopRow>;
using WindowRanks = RankedRows<WindowTopRows::Id>;
/// The rows of one key in one window.
struct WindowKey {
  WindowRanks ranks;
  int64_t number = 0;
};

class WindowTopN : public Operator {
 public:
  WindowTopN(WindowTopNOptions options, expr::Zone zone)
      : options_(std::move(options)),
        zone_(std::move(zone)),
        rows_("ranked", kWindowTopNVersion),
        reader_(options_.input, options_.keys) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return rows_.spill_to(context.spill);
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto list = row_list_.of(batch);
    reader_.read_keys(batch, list);
    STRAND_TRY(const auto starts, starts_.read(batch, options_.window_start, list));
    STRAND_TRY(const auto ends, ends_.read(batch, options_.window_end, list));
    late_.clear();
    for (size_t i = 0; i < list.size(); ++i) {
      const uint64_t hash = reader_.hash(i);
      const EventTime judge = context_->judge(columnar::key_group(hash, context_->max_parallelism));
      if (reached(last_of(ends[i]), judge)) {
        late_.push_back(list[i]);
      } else {
        add(key_of({ends[i], starts[i]}, hash, reader_.key(i)), batch, list[i], hash);
      }
    }
    STRAND_OK(tidy());
    context_->ledger->add(Entry::kLate, static_cast<int64_t>(late_.size()));
    if (late_.empty() || !out.wanted(Port::kLate)) return Status();
    return out.emit(Port::kLate, batch.with_selection(std::make_shared<const columnar::Selection>(late_)));
  }

  Status advance(Emitter& out) override {
    KeptOutput emitted(options_.output, reader_, out, Port::kMain);
    while (!windows_.empty() && reached(last_of(windows_.begin()->first.first), context_->watermark)) {
      const auto window = windows_.extract(windows_.begin());
      newest_ = std::max(newest_, last_of(window.key().first));
      Status status;
      window.mapped().for_each([&](WindowKeys::Id id) {
        if (status.ok()) status = emit(window.mapped()[id].ranks, emitted);
      });
      STRAND_OK(std::move(status));
    }
    STRAND_OK(emitted.rows.flush());
    context_->ledger->add(Entry::kOut, emitted.rows.rows());
    return tidy();
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
    std::vector<WindowTopRows::Id> ids;
    rows_.for_each([&](WindowTopRows::Id id) { ids.push_back(id); });
    std::ranges::sort(
        ids, {}, [&](WindowTopRows::Id id) { return std::pair(rows_[id].head.key, rows_[id].head.arrival); });
    for (size_t from = 0; from < ids.size(); from += kRestored) {
      STRAND_OK(rank(std::span(ids).subspan(from, std::min(kRestored, ids.size() - from))));
    }
    for (const state::Section& part : parts) {
      if (part.ref.name != kWholeRanksSection) continue;
      ByteReader in(part.bytes());
      while (in.remaining() > 0) STRAND_OK(restore_key(in));
    }
    return tidy();
  }

  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return newest_; }
  bool spills() const override { return true; }
  int64_t state_rows() const override { return rows_.size(); }
  int64_t state_bytes() const override { return rows_.memory_bytes() + rank_bytes(); }

 private:
  using WindowKeys = state::KeySlots<WindowKey>;
  using Bounds = std::pair<int64_t, int64_t>;  // local end and start
  static constexpr size_t kRestored = 4096;    // rows that are read together

  EventTime last_of(int64_t end) const { return EventTime{zone_.utc_of(end) - 1}; }

  int64_t rank_bytes() const {
    int64_t bytes = sort_key_bytes_ + rows_.size() * static_cast<int64_t>(sizeof(WindowRanks::Entry));
    for (const auto& [bounds, keys] : windows_) bytes += keys.memory_bytes();
    return bytes;
  }

  WindowKey& key_of(Bounds bounds, uint64_t hash, std::string_view bytes) {
    WindowKeys& window = windows_[bounds];
    WindowKey& key = window[window.find_or_add(hash, bytes)];
    if (key.number == 0) key.number = ++keys_;
    return key;
  }
  void add(WindowKey& key, const Batch& batch, uint32_t row, uint64_t hash) {
    sort_key_.clear();
    columnar::append_sort_key(batch, options_.order, row, sort_key_);
    if (key.ranks.size() == options_.to) {
      const int order = sort_key_.compare(key.ranks.back().sort_key);
      const bool enters = order < 0 || (order == 0 && options_.last_of_equal);
      context_->ledger->add(enters ? Entry::kCounted : Entry::kFiltered, 1);
      if (!enters) return;
      forget(key.ranks.back());
      key.ranks.drop_last();
    }
    put(key, sort_key_, rows_.add(hash, {key.number, ++arrivals_}, reader_.one(batch, row)));
  }
  void put(WindowKey& key, std::string_view sort_key, WindowTopRows::Id row) {
    sort_key_bytes_ += static_cast<int64_t>(sort_key.size());
    key.ranks.add(sort_key, row);
  }
  void forget(const WindowRanks::Entry& entry) {
    sort_key_bytes_ -= static_cast<int64_t>(entry.sort_key.size());
    rows_.erase(entry.row);
    rows_.let_go();
  }

  Status emit(const WindowRanks& ranks, KeptOutput& emitted) {
    int64_t rank = 0;
    Status status;
    ranks.for_each([&](const WindowRanks::Entry& entry) {
      if (++rank >= options_.from && status.ok()) {
        emitted.append(rows_.body(entry.row));
        if (options_.rank) emitted.rows.row().column(options_.input->size()).append(rank);
        status = emitted.rows.end_row();
      }
      forget(entry);
    });
    context_->ledger->add(Entry::kCounted, rank);
    return status;
  }

  /// Rows that were restored, in the order in which they came.
  Status rank(std::span<const WindowTopRows::Id> ids) {
    columnar::BatchBuilder builder(options_.input);
    const auto parts = reader_.parts(builder);
    for (const WindowTopRows::Id id : ids) {
      columnar::decode_key_parts(rows_.body(id), parts);
      builder.end_row();
      rows_.let_go();
    }
    const Batch batch = builder.finish();
    const auto list = row_list_.of(batch);
    STRAND_TRY(const auto starts, starts_.read(batch, options_.window_start, list));
    STRAND_TRY(const auto ends, ends_.read(batch, options_.window_end, list));
    reader_.read_keys(batch, list);
    for (size_t i = 0; i < ids.size(); ++i) {
      WindowKeys& window = windows_[{ends[i], starts[i]}];
      WindowKey& key = window[window.find_or_add(reader_.hash(i), reader_.key(i))];
      const WindowTopRow::Head& head = rows_[ids[i]].head;
      if (key.number == 0) key.number = head.key;
      keys_ = std::max(keys_, head.key);
      arrivals_ = std::max(arrivals_, head.arrival);
      sort_key_.clear();
      columnar::append_sort_key(batch, options_.order, list[i], sort_key_);
      put(key, sort_key_, ids[i]);
    }
    return Status();
  }

  /// A key of version 1: its rows by rank.
  Status restore_key(ByteReader& in) {
    STRAND_TRY(const int64_t end, in.get<int64_t>());
    STRAND_TRY(const int64_t start, in.get<int64_t>());
    STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
    STRAND_TRY(const int64_t rows, in.get<int64_t>());
    columnar::BatchBuilder builder(options_.input);
    const RowBytes form(options_.input->size());
    std::vector<std::string_view> sort_keys;
    for (int64_t i = 0; i < rows; ++i) {
      STRAND_TRY(sort_keys.emplace_back(), in.get_string());
      STRAND_TRY(const std::string_view row, in.get_string());
      form.decode(row, builder);
      builder.end_row();
    }
    if (!owns(*context_, stored.hash)) return Status();
    const Batch batch = builder.finish();
    const auto list = row_list_.of(batch);
    reader_.read_keys(batch, list);
    for (size_t i = 0; i < list.size(); ++i) {
      WindowKey& key = key_of({end, start}, reader_.hash(i), reader_.key(i));
      put(key, sort_keys[i],
          rows_.add(reader_.hash(i), {key.number, ++arrivals_}, reader_.one(batch, list[i])));
    }
    return Status();
  }

  Status tidy() {
    STRAND_OK(rows_.tidy(rank_bytes()));
    update_books();
    return Status();
  }

  void update_books() {
    context_->ledger->set_in_state(rows_.size());
    share_.set(state_bytes());
  }

  WindowTopNOptions options_;
  expr::Zone zone_;
  OperatorContext* context_ = nullptr;
  std::map<Bounds, WindowKeys> windows_;
  WindowTopRows rows_;
  int64_t keys_ = 0;      // that came
  int64_t arrivals_ = 0;  // of rows that were kept
  int64_t sort_key_bytes_ = 0;
  EventTime newest_ = EventTime::min();
  obs::MemoryShare share_;

  // Scratch memory of one batch.
  KeyedRowBytes reader_;
  RowList row_list_;
  Times starts_;
  Times ends_;
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
