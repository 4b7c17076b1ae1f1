#include "state/keyed/keyed_state.h"

namespace strand::state {
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
  for (const auto& [name, table] : tables_)
    frozen->tables.emplace_back(FrozenKeyedState::Head{name, table->type()}, table->freeze(now_));
  for (const auto& [name, saved] : not_opened_) frozen->not_opened.emplace_back(name, saved);
  for (size_t i = 0; i < 2; ++i) frozen->timers[i] = timers_[i].all();
  return frozen;
}

Status KeyedState::load(std::string_view bytes) {
  ByteReader in(bytes);
  STRAND_TRY(const uint32_t tables, in.get<uint32_t>());
  for (uint32_t i = 0; i < tables; ++i) STRAND_OK(load_table(in));
  for (Timers& timers : timers_) STRAND_OK(timers.load(in, own_));
  return {};
}

Status KeyedState::load_table(ByteReader& in) {
  STRAND_TRY(const std::string_view name_text, in.get_string());
  const std::string name(name_text);
  STRAND_TRY(const std::string_view type_text, in.get_string());
  const std::string type(type_text);
  STRAND_TRY(const uint64_t count, in.get<uint64_t>());
  const auto open = tables_.find(name);
  std::optional<TypeChange> change;
  if (open != tables_.end() && open->second->type() != type) {
    STRAND_TRY(change, change_of(name, type, open->second->type()));
  }
  auto& not_opened = not_opened_[name];
  auto added =
      not_opened == nullptr ? std::make_shared<SavedTable>() : std::make_shared<SavedTable>(*not_opened);
  added->type = type;
  for (uint64_t i = 0; i < count; ++i) {
    RawEntry entry;
    STRAND_TRY(entry.key, load_key(in));
    STRAND_TRY(const std::string_view value, in.get_string());
    if (!own_.contains(entry.key.group)) continue;
    entry.value = value;
    if (open == tables_.end()) {
      added->entries.push_back(std::move(entry));
    } else {
      STRAND_OK(open->second->load(entry, change ? &*change : nullptr));
    }
  }
  not_opened = std::move(added);
  if (open != tables_.end()) not_opened_.erase(name);
  return {};
}

Status KeyedState::adopt(const std::string& name, std::unique_ptr<TableBase> table) {
  const auto saved = not_opened_.find(name);
  if (saved != not_opened_.end()) {
    std::optional<TypeChange> change;
    if (saved->second->type != table->type()) {
      STRAND_TRY(change, change_of(name, saved->second->type, table->type()));
    }
    for (const RawEntry& entry : saved->second->entries)
      STRAND_OK(table->load(entry, change ? &*change : nullptr));
    not_opened_.erase(saved);
  }
  tables_[name] = std::move(table);
  return {};
}

int64_t KeyedState::entries() const {
  int64_t entries = 0;
  for (const auto& [name, table] : tables_) entries += table->entries();
  for (const auto& [name, saved] : not_opened_) entries += static_cast<int64_t>(saved->entries.size());
  return entries;
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
