#include "state/keyed/keyed_state.h"

namespace strand::state {
namespace {

void save_table(const std::string& name, const std::string& type, const std::vector<RawEntry>& entries,
                ByteWriter& out) {
  out.put_string(name);
  out.put_string(type);
  out.put(static_cast<uint64_t>(entries.size()));
  for (const RawEntry& entry : entries) {
    save_key(entry.key, out);
    out.put_string(entry.value);
  }
}

}  // namespace

std::string KeyedState::save() const {
  ByteWriter out;
  out.put(static_cast<uint32_t>(tables_.size() + not_opened_.size()));
  for (const auto& [name, table] : tables_) save_table(name, table->type(), table->save(), out);
  for (const auto& [name, saved] : not_opened_) save_table(name, saved.type, saved.entries, out);
  for (const Timers& timers : timers_) timers.save(out);
  return out.take();
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
  if (open != tables_.end() && open->second->type() != type)
    return other_type(name, type, open->second->type());
  Saved& saved = not_opened_[name];
  saved.type = type;
  for (uint64_t i = 0; i < count; ++i) {
    RawEntry entry;
    STRAND_TRY(entry.key, load_key(in));
    STRAND_TRY(const std::string_view value, in.get_string());
    if (!own_.contains(entry.key.group)) continue;
    entry.value = value;
    if (open == tables_.end()) {
      saved.entries.push_back(std::move(entry));
    } else {
      STRAND_OK(open->second->load(entry));
    }
  }
  if (open != tables_.end()) not_opened_.erase(name);
  return {};
}

Status KeyedState::adopt(const std::string& name, std::unique_ptr<TableBase> table) {
  const auto saved = not_opened_.find(name);
  if (saved != not_opened_.end()) {
    if (saved->second.type != table->type()) return other_type(name, saved->second.type, table->type());
    for (const RawEntry& entry : saved->second.entries) STRAND_OK(table->load(entry));
    not_opened_.erase(saved);
  }
  tables_[name] = std::move(table);
  return {};
}

int64_t KeyedState::entries() const {
  int64_t entries = 0;
  for (const auto& [name, table] : tables_) entries += table->entries();
  for (const auto& [name, saved] : not_opened_) entries += static_cast<int64_t>(saved.entries.size());
  return entries;
}

Status KeyedState::other_type(const std::string& name, const std::string& saved, const std::string& wanted) {
  return Status(ErrorCode::kStateMismatch,
                "state `" + name + "` holds " + saved + ", but the function asks for " + wanted)
      .hint("give the new state another name, or start without the old state");
}

}  // namespace strand::state
