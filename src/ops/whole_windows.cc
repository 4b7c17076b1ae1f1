#include "ops/whole_windows.h"

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

#include "ops/changing_group.h"
#include "ops/group_values.h"
#include "ops/keys.h"
#include "ops/late_rows.h"
#include "ops/rows.h"
#include "ops/window_accumulators.h"

namespace strand::ops {

namespace {

using columnar::RowKind;
using flow::Batch;
using flow::Emitter;
using flow::OperatorContext;
using obs::Entry;

constexpr int32_t kWholeWindowsVersion = 1;
constexpr int32_t kCountedElsewhereVersion = 2;  // without the values that GroupValues has
constexpr const char* kWholeWindowsSection = "windows";

struct WindowGroup : ChangingGroup {
  int64_t held = 0;  // rows of the input for which this is the last window
};
using WindowGroups = state::KeySlots<WindowGroup>;

/// Without firing a window emits the groups that have rows when it is closed, once. With it, groups are
/// emitted whenever they are due and have changed, as a changelog, and stay until the lateness is over.
/// Values of which only different ones count are logged rows, and the groups are written at each barrier.
class WholeWindows : public Operator {
 public:
  WholeWindows(WindowOptions options, WindowAssigner assigner)
      : options_(std::move(options)),
        assigner_(std::move(assigner)),
        results_(options_.aggregates, *options_.output, options_.keys.size() + 3, options_.changes),
        counts_values_(!options_.changes && std::ranges::any_of(options_.aggregates, &Aggregate::distinct)),
        values_("values", kCountedElsewhereVersion),
        keys_(options_.input, options_.keys),
        late_(options_.late_output) {}

  Status open(OperatorContext& context) override {
    context_ = &context;
    share_ = obs::MemoryShare(context.memory);
    return counts_values_ ? values_.spill_to(context.spill) : Status();
  }

  Status process(int, const Batch& batch, Emitter& out) override {
    if (!options_.changes) STRAND_OK(require_inserts(batch, context_->operator_id));
    context_->ledger->add(Entry::kIn, batch.rows());
    const auto rows = row_list_.of(batch);
    STRAND_TRY(const auto times, times_.read(batch, options_.time_column, rows));
    keys_.read(batch, rows);
    for (size_t i = 0; i < rows.size(); ++i) add(batch, i, rows[i], times[i]);
    STRAND_OK(late_.emit(batch, *context_, out));
    STRAND_OK(fire_at_once(out));
    return tidy();
  }

  Status advance(Emitter& out) override {
    RowEmitter rows(options_.output, out, Port::kMain);
    for (auto& [end, window] : windows_) {
      if (window.fired || !reached(window.bounds.last, context_->watermark)) continue;
      window.fired = true;
      STRAND_OK(options_.fire ? emit_changed(window, rows) : emit_all(window, rows));
      newest_end_ = std::max(newest_end_, window.bounds.last + Duration{1});
    }
    for (auto at = windows_.begin(); at != windows_.end();) {
      Window& window = at->second;
      if (!window.fired || !reached(window.bounds.last + lateness(), context_->watermark)) {
        ++at;
        continue;
      }
      for (const WindowGroups::Id id : all_of(window)) forget(window, id);
      at = windows_.erase(at);
    }
    return finish_rows(rows);
  }

  Status on_wakeup(Emitter& out) override {
    if (context_->now < fire_at_) return Status();
    fire_at_ = WallTime::never();
    RowEmitter rows(options_.output, out, Port::kMain);
    for (auto& [end, window] : windows_) {
      const std::optional<Duration>& delay = window.fired ? options_.fire->late : options_.fire->early;
      if (delay) STRAND_OK(emit_changed(window, rows));
    }
    return finish_rows(rows);
  }
  WallTime next_wakeup() const override { return fire_at_; }

  Status emit_held(Emitter& out) override {
    if (!options_.fire) return Status();
    RowEmitter rows(options_.output, out, Port::kMain);
    for (const auto& [end, window] : windows_) {
      for (const WindowGroups::Id id : all_of(window)) {
        if (!window.groups[id].emitted.empty())
          STRAND_OK(emit(window, id, window.groups[id].emitted, RowKind::kInsert, rows));
      }
    }
    return rows.flush();
  }

  Status snapshot(Epoch, state::SnapshotBuilder& out) override {
    ByteWriter bytes;
    for (const auto& [end, window] : windows_) {
      for (const WindowGroups::Id id : all_of(window)) {
        bytes.put(end);
        window.groups.encode_key(id, bytes);
        results_.encode(window.groups[id], bytes, counts_values_);
        bytes.put(window.groups[id].held);
        bytes.put(static_cast<uint8_t>(window.groups[id].touched ? 1 : 0));
      }
    }
    out.add(kWholeWindowsSection, counts_values_ ? kCountedElsewhereVersion : kWholeWindowsVersion,
            bytes.take());
    values_.snapshot(out);
    return Status();
  }
  void snapshot_written(Epoch epoch, const std::vector<state::SectionRef>& refs) override {
    values_.written(epoch, refs);
  }

  Status restore(const std::vector<state::Section>& parts) override {
    bool with_values = false;  // in the groups
    for (const state::Section& part : parts) {
      if (part.ref.name != kWholeWindowsSection) continue;
      STRAND_OK(state::check_version(part.ref, kCountedElsewhereVersion));
      with_values = counts_values_ && part.ref.version == kWholeWindowsVersion;
      ByteReader in(part.bytes());
      while (in.remaining() > 0) STRAND_OK(restore_group(in, with_values));
    }
    if (!with_values) STRAND_OK(restore_values(parts));
    return tidy();
  }

  bool judges_lateness() const override { return true; }
  EventTime last_closed() const override { return newest_end_; }
  /// Values of which only different ones count; the groups stay in memory.
  bool spills() const override { return counts_values_; }
  int64_t state_rows() const override {
    int64_t rows = 0;
    for (const auto& [end, window] : windows_) rows += window.groups.size();
    return rows;
  }
  int64_t state_bytes() const override {
    int64_t bytes = group_bytes_ + values_.memory_bytes();
    for (const auto& [end, window] : windows_) bytes += window.groups.memory_bytes();
    return bytes;
  }

 private:
  struct Window {
    WindowBounds bounds;
    WindowGroups groups;
    std::vector<WindowGroups::Id> touched;
    bool fired = false;
  };

  static std::vector<WindowGroups::Id> all_of(const Window& window) {
    std::vector<WindowGroups::Id> ids;
    window.groups.for_each([&](WindowGroups::Id id) { ids.push_back(id); });
    return ids;
  }
  Duration lateness() const { return options_.fire ? options_.fire->lateness : Duration{0}; }

  void add(const Batch& batch, size_t i, uint32_t row, int64_t time) {
    const WindowBounds slice = assigner_.slice_of(time);
    assigner_.windows_of(slice, windows_of_row_);
    // Between windows that are further apart than they are long there is none.
    std::erase_if(windows_of_row_, [&](const WindowBounds& window) {
      return window.end < slice.end || window.start > slice.start;
    });
    if (windows_of_row_.empty()) return context_->ledger->add(Entry::kFiltered, 1);
    const EventTime judge =
        context_->judge(columnar::key_group(keys_.hashes()[i], context_->max_parallelism));
    const auto gone = [&](const WindowBounds& window) { return reached(window.last + lateness(), judge); };
    const bool fully = gone(windows_of_row_.back());
    if (fully) late_.book();
    for (const WindowBounds& window : windows_of_row_) {
      if (gone(window)) {
        late_.add(row, window, judge, fully);
      } else {
        put(batch, i, row, window, window.end == windows_of_row_.back().end);
      }
    }
  }

  /// `last`: no other window of the row comes.
  void put(const Batch& batch, size_t i, uint32_t row, const WindowBounds& bounds, bool last) {
    Window& window = open(bounds);
    const bool back = takes_back(batch.kind(row));
    const auto id = back ? window.groups.find(keys_.hashes()[i], keys_.keys()[i])
                         : window.groups.find_or_add(keys_.hashes()[i], keys_.keys()[i]);
    if (id == WindowGroups::kNone) {
      if (last) context_->ledger->add(Entry::kCounted, 1);
      return;
    }
    WindowGroup& group = window.groups[id];
    group_bytes_ -= group.bytes();
    if (counts_values_) look_at(bounds.end, keys_.hashes()[i], keys_.keys()[i], group);
    results_.change(batch, row, back, group, counts_values_ ? &values_ : nullptr);
    values_.let_go();
    group_bytes_ += group.bytes();
    if (last) {
      ++group.held;
      ++held_;
    }
    if (options_.fire) touch(window, id);
  }

  /// values_ is about this group from now on.
  void look_at(int64_t end, uint64_t hash, std::string_view key, WindowGroup& group) {
    of_values_.assign(reinterpret_cast<const char*>(&end), sizeof end);
    of_values_ += key.data() == nullptr ? '\1' : '\0';
    of_values_ += key;
    values_.at(hash, of_values_, group.first_value);
  }
  void forget(Window& window, WindowGroups::Id id) {
    WindowGroup& group = window.groups[id];
    if (counts_values_) {
      look_at(window.bounds.end, window.groups.hash(id), window.groups.key(id), group);
      values_.clear();
    }
    group_bytes_ -= group.bytes();
    held_ -= group.held;
    context_->ledger->add(Entry::kCounted, group.held);
  }

  Window& open(const WindowBounds& bounds) {
    const auto [entry, fresh] = windows_.try_emplace(bounds.end);
    if (!fresh) return entry->second;
    entry->second.bounds = bounds;
    // What comes within the lateness finds that the end has passed.
    entry->second.fired = reached(bounds.last, context_->watermark) && options_.fire.has_value();
    return entry->second;
  }

  void touch(Window& window, WindowGroups::Id id) {
    if (window.groups[id].touched) return;
    window.groups[id].touched = true;
    window.touched.push_back(id);
    const std::optional<Duration>& delay = window.fired ? options_.fire->late : options_.fire->early;
    if (!delay || delay->millis == 0) return;
    fire_at_ = std::min(fire_at_, WallTime{(context_->now.millis / delay->millis + 1) * delay->millis});
  }

  /// Where the delay is 0, and where a late row finds no other time to be told.
  Status fire_at_once(Emitter& out) {
    if (!options_.fire) return Status();
    RowEmitter rows(options_.output, out, Port::kMain);
    for (auto& [end, window] : windows_) {
      const std::optional<Duration>& delay = window.fired ? options_.fire->late : options_.fire->early;
      if (delay ? delay->millis == 0 : window.fired) STRAND_OK(emit_changed(window, rows));
    }
    return finish_rows(rows);
  }

  Status emit_all(const Window& window, RowEmitter& rows) {
    std::vector<WindowGroups::Id> ids = all_of(window);
    std::erase_if(ids, [&](WindowGroups::Id id) { return window.groups[id].rows == 0; });
    std::vector<const ChangingGroup*> groups;
    for (const WindowGroups::Id id : ids) groups.push_back(&window.groups[id]);
    const std::vector<std::string> results = results_.of(groups);
    for (size_t i = 0; i < ids.size(); ++i)
      STRAND_OK(emit(window, ids[i], results[i], RowKind::kInsert, rows));
    return Status();
  }

  /// What has changed since it was last emitted.
  Status emit_changed(Window& window, RowEmitter& rows) {
    std::vector<const ChangingGroup*> groups;
    for (const WindowGroups::Id id : window.touched) groups.push_back(&window.groups[id]);
    std::vector<std::string> results = results_.of(groups);
    for (size_t i = 0; i < results.size(); ++i) {
      const WindowGroups::Id id = window.touched[i];
      ChangingGroup& group = window.groups[id];
      group.touched = false;
      group_bytes_ -= group.bytes();
      const std::string before = std::exchange(group.emitted, group.rows == 0 ? "" : std::move(results[i]));
      group_bytes_ += group.bytes();
      if (before == group.emitted) continue;
      if (group.emitted.empty()) {
        STRAND_OK(emit(window, id, before, RowKind::kDelete, rows));
        continue;
      }
      if (!before.empty() && options_.fire->update_before)
        STRAND_OK(emit(window, id, before, RowKind::kUpdateBefore, rows));
      const RowKind kind = before.empty() ? RowKind::kInsert : RowKind::kUpdateAfter;
      STRAND_OK(emit(window, id, group.emitted, kind, rows));
    }
    window.touched.clear();
    return Status();
  }

  Status emit(const Window& window, WindowGroups::Id id, const std::string& result, RowKind kind,
              RowEmitter& rows) {
    append_window_columns(window.bounds, window.groups.key(id), keys_, options_.keys.size(), rows.row());
    results_.append(result, rows.row());
    return rows.end_row(kind);
  }

  Status finish_rows(RowEmitter& rows) {
    STRAND_OK(rows.flush());
    context_->ledger->add(Entry::kOut, rows.rows());
    return tidy();
  }
  Status tidy() {
    STRAND_OK(values_.tidy());
    update_books();
    return Status();
  }

  /// `with_values`: that GroupValues has from now on.
  Status restore_group(ByteReader& in, bool with_values) {
    STRAND_TRY(const int64_t end, in.get<int64_t>());
    STRAND_TRY(const state::KeyTable::StoredKey stored, state::KeyTable::decode_key(in));
    WindowGroup group;
    STRAND_OK(results_.decode(in, group));
    STRAND_TRY(group.held, in.get<int64_t>());
    STRAND_TRY(const uint8_t touched, in.get<uint8_t>());
    const int32_t key_group = columnar::key_group(stored.hash, context_->max_parallelism);
    if (!context_->key_groups.contains(key_group)) return Status();
    const auto [entry, fresh] = windows_.try_emplace(end);
    Window& window = entry->second;
    window.bounds = assigner_.window_ending(end);
    window.fired =
        window.fired || (options_.fire && reached(window.bounds.last, context_->floor.of(key_group)));
    const WindowGroups::Id id = window.groups.find_or_add(stored.hash, stored.key);
    window.groups[id] = std::move(group);
    if (with_values) {
      look_at(end, stored.hash, stored.key, window.groups[id]);
      results_.move_values(window.groups[id], values_);
    }
    group_bytes_ += window.groups[id].bytes();
    window.groups[id].touched = false;
    held_ += window.groups[id].held;
    if (touched != 0) touch(window, id);
    return Status();
  }

  Status restore_values(const std::vector<state::Section>& parts) {
    Status status;
    const auto mine = [&](uint64_t hash) { return owns(*context_, hash); };
    STRAND_OK(values_.restore(
        parts, context_->key_groups, mine, [&](const GroupValues::Restored& value) -> uint32_t& {
          int64_t end = 0;
          std::memcpy(&end, value.key.data(), sizeof end);
          const bool null = value.key[sizeof end] != '\0';
          const std::string_view key = null ? std::string_view() : value.key.substr(sizeof end + 1);
          Window& window = windows_[end];
          WindowGroup& group = window.groups[window.groups.find_or_add(value.hash, key)];
          if (status.ok()) status = results_.restore(value.aggregate, value.value, value.count, group);
          return group.first_value;
        }));
    return status;
  }

  void update_books() {
    context_->ledger->set_in_state(held_);
    share_.set(state_bytes());
  }

  WindowOptions options_;
  WindowAssigner assigner_;
  OperatorContext* context_ = nullptr;
  std::map<int64_t, Window> windows_;  // by end
  GroupResults results_;
  bool counts_values_;
  GroupValues values_;  // where counts_values_
  int64_t group_bytes_ = 0;
  int64_t held_ = 0;
  obs::MemoryShare share_;
  EventTime newest_end_ = EventTime::min();  // end of a window that was closed
  WallTime fire_at_ = WallTime::never();

  // Scratch memory of one batch.
  Keys keys_;
  RowList row_list_;
  Times times_;
  LateRows late_;
  std::vector<WindowBounds> windows_of_row_;
  std::string of_values_;
};

}  // namespace

bool needs_whole_windows(const WindowOptions& options) {
  const bool apart = options.kind == expr::WindowKind::kHop && options.step > options.size;
  return options.changes || options.fire || apart ||
         !std::ranges::all_of(options.aggregates, &Aggregate::plain);
}

OperatorPtr make_whole_windows(WindowOptions options, WindowAssigner assigner) {
  return std::make_unique<WholeWindows>(std::move(options), std::move(assigner));
}

}  // namespace strand::ops
