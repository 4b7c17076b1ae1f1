#include "state/keyed/keyed_state.h"

#include <algorithm>
#include <utility>

namespace strand::state {

namespace {
constexpr size_t kLoadedBytes = size_t{8} << 20;  // of saved values at once
}  // namespace

std::string FrozenKeyedState::encode() {
  ByteWriter out;
  out.put(static_cast<uint32_t>(tables.size() + not_opened.size()));
  for (auto& [head, table] : tables) {
    out.put_string(head.name);
    out.put_string(head.type);
    table->encode(out);
  }
  for (const auto& [name, saved] : not_opened) {
    out.put_string(name);
    out.put_string(saved->type);
    out.put(static_cast<uint64_t>(saved->entries.size()));
    for (const RawEntry& entry : saved->entries) {
      save_key(entry.key, out);
      out.put_string(entry.value);
    }
  }
  for (std::vector<Timer>& of_domain : timers) save_timers(of_domain, out);
  return out.take();
}

std::shared_ptr<FrozenKeyedState> KeyedState::freeze() const {
  auto frozen = std::make_shared<FrozenKeyedState>();
  if (cold_ != nullptr) static_cast<void>(cold_->bytes());  // no table is in the midst of measuring
  for (const auto& [name, table] : tables_)
    frozen->tables.emplace_back(FrozenKeyedState::Head{name, table->type()}, table->freeze(now_));
  for (const auto& [name, saved] : not_opened_) frozen->not_opened.emplace_back(name, saved);
  for (size_t i = 0; i < 2; ++i) frozen->timers[i] = timers_[i].all();
  return frozen;
}

Status KeyedState::load(std::string_view bytes, KeyGroupRange groups) {
  if (groups.last < own_.first || groups.first > own_.last) return {};
  ByteReader in(bytes);
  STRAND_TRY(const uint32_t tables, in.get<uint32_t>());
  for (uint32_t i = 0; i < tables; ++i) STRAND_OK(load_table(in, groups));
  for (Timers& timers : timers_) STRAND_OK(timers.load(in, own_));
  return {};
}

Status KeyedState::load_table(ByteReader& in, KeyGroupRange groups) {
  STRAND_TRY(const std::string_view name_text, in.get_string());
  const std::string name(name_text);
  STRAND_TRY(const std::string_view type_text, in.get_string());
  STRAND_OK(load_type(name, std::string(type_text), groups));
  return cold_ != nullptr ? load_cold(in, name) : load_entries(in, name);
}

/// Parts may name different types where functions open their states late. An open table has each carried
/// over; a state that nobody has opened has one type only.
Status KeyedState::load_type(const std::string& name, const std::string& type, KeyGroupRange groups) {
  const auto open = tables_.find(name);
  if (open == tables_.end()) {
    auto& saved = not_opened_[name];
    if (saved != nullptr && saved->type != type) {
      return Status(ErrorCode::kStateMismatch, "state `" + name + "` holds " + saved->type +
                                                   " in one part of the snapshot, and " + type +
                                                   " in another")
          .hint("have the function open it when it starts, or start with the old parallelism");
    }
    if (saved == nullptr) saved = std::make_shared<SavedTable>(SavedTable{type, {}});
  } else if (open->second->type() != type) {
    STRAND_TRY(auto change, change_of(name, type, open->second->type()));
    if (cold_ != nullptr) STRAND_OK(cold_->change_type(name, change, groups));
    changes_[name].push_back({groups, std::move(change)});
  }
  return {};
}

const TypeChange* KeyedState::change_at(const std::string& name, int32_t group) const {
  const auto of_table = changes_.find(name);
  if (of_table == changes_.end()) return nullptr;
  for (const PartChange& part : of_table->second) {
    if (part.groups.contains(group)) return &part.change;
  }
  return nullptr;
}

Status KeyedState::load_entries(ByteReader& in, const std::string& name) {
  STRAND_TRY(const uint64_t count, in.get<uint64_t>());
  const auto open = tables_.find(name);
  for (uint64_t i = 0; i < count; ++i) {
    RawEntry entry;
    STRAND_TRY(entry.key, load_key(in));
    STRAND_TRY(const std::string_view value, in.get_string());
    if (!own_.contains(entry.key.group)) continue;
    entry.value = value;
    if (value.empty()) {
      gone_[name].push_back(std::move(entry.key));
    } else if (open == tables_.end()) {
      not_opened_[name]->entries.push_back(std::move(entry));
    } else {
      STRAND_OK(open->second->load(entry, change_at(name, entry.key.group)));
    }
  }
  return {};
}

/// Everything goes to the store, as it was saved: it comes back when it is asked for.
Status KeyedState::load_cold(ByteReader& in, const std::string& name) {
  STRAND_TRY(const uint64_t count, in.get<uint64_t>());
  std::vector<RawEntry> entries;
  size_t bytes = 0;
  const auto put = [&] {
    std::ranges::sort(entries, {}, &RawEntry::key);  // a state that nobody opened may come in any order
    const Status status = cold_->put(name, entries);
    entries.clear();
    bytes = 0;
    return status;
  };
  for (uint64_t i = 0; i < count; ++i) {
    RawEntry entry;
    STRAND_TRY(entry.key, load_key(in));
    STRAND_TRY(entry.value, in.get_string());
    if (!own_.contains(entry.key.group)) continue;
    const TypeChange* const change = change_at(name, entry.key.group);
    if (change != nullptr && !entry.value.empty()) {
      STRAND_TRY(entry.value, tables_.at(name)->changed(entry.value, *change));
    }
    bytes += entry.value.size() + sizeof entry;
    entries.push_back(std::move(entry));
    if (bytes < kLoadedBytes) continue;
    STRAND_OK(put());
  }
  return put();
}

Status KeyedState::snapshot(SnapshotBuilder& out) {
  if (cold_ != nullptr) STRAND_OK(cold_->snapshot(out));
  if (cold_ != nullptr && cold_->prunes()) {
    ByteWriter clock;
    clock.put(now_.millis);
    out.add(kKeyedClockSection, kVersion, clock.take());
  }
  out.add_deferred(kKeyedSection, kVersion,
                   [frozen = freeze()]() -> Result<std::string> { return frozen->encode(); });
  return {};
}

namespace {

/// By key group, where a snapshot says so.
Result<ColdState::ClockOf> clocks(const std::vector<Section>& sections) {
  std::vector<std::pair<KeyGroupRange, WallTime>> times;
  for (const Section& section : sections) {
    if (section.ref.name != kKeyedClockSection) continue;
    STRAND_OK(check_version(section.ref, KeyedState::kVersion));
    ByteReader in(section.bytes());
    STRAND_TRY(const int64_t millis, in.get<int64_t>());
    times.emplace_back(section.ref.groups, WallTime{millis});
  }
  return ColdState::ClockOf([times](int32_t group) -> std::optional<WallTime> {
    for (const auto& [groups, time] : times) {
      if (groups.contains(group)) return time;
    }
    return std::nullopt;
  });
}

}  // namespace

Status KeyedState::restore(const std::vector<Section>& sections) {
  if (cold_ != nullptr) STRAND_OK(cold_->restore(sections));
  for (const Section& section : sections) {
    if (section.ref.name != kKeyedSection) continue;
    STRAND_OK(check_version(section.ref, kVersion));
    STRAND_TRY(const Section loaded, section.loaded());
    STRAND_OK(load(loaded.bytes(), section.ref.groups));
  }
  STRAND_TRY(const ColdState::ClockOf saved_at, clocks(sections));
  STRAND_OK(cold_ != nullptr ? cold_->restored(saved_at) : load_handed_over(sections, saved_at));
  changes_.clear();
  gone_.clear();
  return {};
}

namespace {

/// The newest rows of each state that another run has handed over, without those that are gone.
using HandedOver = std::map<std::string, std::map<StateKey, std::string>>;
Result<HandedOver> handed_over(const std::vector<Section>& sections, KeyGroupRange own) {
  HandedOver rows;
  STRAND_OK(RowSpill::read(sections, own, [&](std::string_view bytes, std::string_view value) {
    ColdKey read = read_cold_key(bytes);
    auto& values = rows[std::string(plain_name(read.name))];
    if (value.empty()) {
      values.erase(read.key);
    } else {
      values.insert_or_assign(std::move(read.key), value);
    }
    return Status();
  }));
  return rows;
}

}  // namespace

/// On the heap: what another run has handed over, unless it had it in memory, too.
Status KeyedState::load_handed_over(const std::vector<Section>& sections,
                                    const ColdState::ClockOf& saved_at) {
  STRAND_TRY(HandedOver rows, handed_over(sections, own_));
  for (const auto& [name, keys] : gone_) {
    for (const StateKey& key : keys) rows[name].erase(key);
  }
  for (auto& [name, values] : rows) {
    const auto saved = not_opened_.find(name);
    if (saved != not_opened_.end()) {
      for (const RawEntry& entry : saved->second->entries) values.erase(entry.key);
      for (auto& [key, value] : values) saved->second->entries.push_back({key, std::move(value)});
      std::ranges::sort(saved->second->entries, {}, &RawEntry::key);
      continue;
    }
    const auto open = tables_.find(name);
    if (open == tables_.end()) continue;
    TableBase& table = *open->second;
    for (auto& [key, value] : values) {
      if (table.has(key.view())) continue;
      RawEntry entry{key, std::move(value)};
      if (const TypeChange* const change = change_at(name, key.group)) {
        STRAND_TRY(entry.value, table.changed(entry.value, *change));
      }
      if (const auto now = saved_at(key.group); now && table.prunes()) {
        STRAND_TRY(entry.value, table.pruned(entry.value, *now));
      }
      if (!entry.value.empty()) STRAND_OK(table.load(entry, nullptr));
    }
  }
  return {};
}

Status KeyedState::visit(const std::string& name, const std::function<void(const StateKey&)>& f) {
  std::vector<StateKey> keys;
  std::vector<StateKeyView> views;
  const auto visit_some = [&]() -> Status {
    views.clear();
    for (const StateKey& key : keys) views.push_back(key.view());
    STRAND_OK(cold_->bring_back(views));
    for (const StateKey& key : keys) f(key);
    keys.clear();
    return cold_->make_room();
  };
  STRAND_OK(cold_->for_each(name, [&](const ColdKey& read, std::string_view) {
    keys.push_back(read.key);
    return keys.size() < kVisited ? Status() : visit_some();
  }));
  return visit_some();
}

void KeyedState::sweep() {
  const int64_t n = kSwept * std::exchange(keys_set_, 0);
  if (n == 0) return;
  for (const auto& [name, table] : tables_) {
    if (table->expires()) table->sweep(n, now_);
  }
}

Status KeyedState::adopt(const std::string& name, std::unique_ptr<TableBase> table) {
  const auto saved = not_opened_.find(name);
  if (saved != not_opened_.end()) {
    std::optional<TypeChange> change;
    if (saved->second->type != table->type()) {
      STRAND_TRY(change, change_of(name, saved->second->type, table->type()));
    }
    if (cold_ != nullptr) cold_->adopt(name, *table);
    if (cold_ != nullptr && change) STRAND_OK(cold_->change_type(name, *change, own_));
    for (const RawEntry& entry : saved->second->entries)
      STRAND_OK(table->load(entry, change ? &*change : nullptr));
    not_opened_.erase(saved);
  } else if (cold_ != nullptr) {
    cold_->adopt(name, *table);
  }
  tables_[name] = std::move(table);
  return {};
}

int64_t KeyedState::entries() const {
  int64_t entries = 0;
  for (const auto& [name, table] : tables_) entries += table->entries();
  for (const auto& [name, saved] : not_opened_) entries += static_cast<int64_t>(saved->entries.size());
  return cold_ != nullptr ? entries + cold_->values() : entries;
}

int64_t KeyedState::bytes() const {
  if (cold_ == nullptr) return entries() * kEntryBytes;
  return cold_->bytes() + (timers_[0].size() + timers_[1].size()) * kEntryBytes;
}

Result<TypeChange> KeyedState::change_of(const std::string& name, const std::string& saved,
                                         const std::string& wanted) {
  auto change = TypeChange::between(saved, wanted);
  if (change.ok()) return change;
  return other_type(name, saved, wanted);
}

Status KeyedState::other_type(const std::string& name, const std::string& saved, const std::string& wanted) {
  return Status(ErrorCode::kStateMismatch,
                "state `" + name + "` holds " + saved + ", but the function asks for " + wanted)
      .hint("give the new state another name, or start without the old state");
}

}  // namespace strand::state
