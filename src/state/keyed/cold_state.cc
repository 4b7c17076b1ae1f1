#include "state/keyed/cold_state.h"

#include <algorithm>

namespace strand::state {

namespace {

constexpr int64_t kMarkBytes = 120;  // of a key that is known to be gone or absent, about

}  // namespace

ColdState::ColdState(SpillSpace& space, KeyGroupRange own)
    : own_(own),
      now_(std::make_shared<std::atomic<int64_t>>(0)),
      expiry_(std::make_shared<ColdExpiry>(
          [now = now_] { return WallTime{now->load(std::memory_order_relaxed)}; })),
      rows_(space, own, [of = expiry_](std::string_view key, std::string_view value) {
        return of->expired(key, value);
      }) {}

void ColdTable::expires(Expiry expiry) { home_.expires(*this, std::move(expiry)); }

bool ColdTable::fetch(const StateKeyView& key) { return may_have(key) && home_.fetch(*this, key); }

ColdTable& ColdState::table_of(std::string_view cold_name) {
  const auto found = tables_.find(cold_name);
  if (found != tables_.end()) return *found->second;
  std::string name(cold_name);
  auto made = std::make_unique<ColdTable>(*this, name);
  return *tables_.emplace(std::move(name), std::move(made)).first->second;
}

void ColdState::adopt(const std::string& name, TableBase& table) {
  ColdTable& cold = table_of(cold_name(name));
  cold.table_ = &table;
  table.spill_to(cold);
}

Status ColdState::change_type(const std::string& name, const TypeChange& change, KeyGroupRange groups) {
  const std::string wanted = cold_name(name);
  const TableBase& table = *table_of(wanted).table_;
  rows_.write_anew();
  return rows_.change([&](std::string_view key, std::string& value) -> Result<bool> {
    const ColdKey read = read_cold_key(key);
    if (read.name != wanted || !groups.contains(read.key.group)) return false;
    STRAND_TRY(value, table.changed(value, change));
    return true;
  });
}

Status ColdState::bring_back(std::span<const StateKeyView> keys) {
  if (rows_.empty()) return Status();
  for (const auto& [name, cold] : tables_) {
    if (cold->table_ == nullptr || cold->values_ == 0) continue;
    wanted_.clear();
    for (const StateKeyView& key : keys) {
      const bool used = key.space == Namespace{} ? cold->plain_ : cold->spaced_;
      if (!used || cold->table_->has(key) || !cold->may_have(key)) continue;
      wanted_.push_back(key);
      cold->absent_.emplace(key.group, std::string(key.key), key.space);  // until it is found; and once
    }
    STRAND_OK(take(*cold, wanted_));
  }
  return Status();
}

bool ColdState::fetch(ColdTable& table, const StateKeyView& key) {
  table.absent_.emplace(key.group, std::string(key.key), key.space);
  const int64_t before = table.values_;
  if (Status status = take(table, {&key, 1}); !status.ok()) fail(std::move(status));
  return table.values_ != before;
}

/// Of keys that are marked as absent: gives the table what there is.
Status ColdState::take(ColdTable& table, std::span<const StateKeyView> keys) {
  if (keys.empty()) return Status();
  key_bytes_.clear();
  key_ends_.clear();
  keys_.clear();
  for (const StateKeyView& key : keys) {
    append_cold_key(table.name_, key, key_bytes_);
    key_ends_.push_back(key_bytes_.size());
  }
  size_t from = 0;
  for (const size_t end : key_ends_) {
    keys_.push_back(std::string_view(key_bytes_).substr(from, end - from));
    from = end;
  }
  Status status;
  STRAND_OK(rows_.take(keys_, [&](size_t i, std::string_view value) {
    table.absent_.erase(table.absent_.find(keys[i]));
    --table.values_;
    if (status.ok()) status = table.table_->bring_back(keys[i], value);
  }));
  return status;
}

Status ColdState::make_room() {
  STRAND_OK(failed_);
  int64_t used = bytes();
  for (const auto& [name, cold] : tables_)
    used += static_cast<int64_t>(cold->absent_.size() + cold->gone_.size()) * kMarkBytes;
  if (used > rows_.budget() / kCopies) return hand_over();
  for (const auto& [name, cold] : tables_) cold->absent_.clear();
  return Status();
}

Status ColdState::hand_over() {
  STRAND_OK(failed_);
  std::vector<Row> rows;
  // Group by group: there the tables come in the order of their names, and each in that of its keys.
  std::map<const ColdTable*, std::vector<Row>> gone;
  std::map<const ColdTable*, size_t> gone_taken;
  for (const auto& [name, cold] : tables_) add_gone(*cold, gone[cold.get()]);
  for (int32_t group = own_.first; group <= own_.last; ++group) {
    for (const auto& [name, cold] : tables_) {
      const size_t first = rows.size();
      if (cold->table_ != nullptr) {
        for (const StateKey* key : cold->table_->sorted(group)) rows.push_back({cold.get(), key, false});
      }
      const size_t live = rows.size();
      const std::vector<Row>& of_table = gone[cold.get()];
      size_t& at = gone_taken[cold.get()];
      for (; at < of_table.size() && of_table[at].key->group == group; ++at) rows.push_back(of_table[at]);
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first);
      std::inplace_merge(begin, rows.begin() + static_cast<std::ptrdiff_t>(live), rows.end(),
                         [](const Row& a, const Row& b) { return *a.key < *b.key; });
    }
  }
  STRAND_OK(put_rows(rows));
  for (const Row& row : rows) {
    if (row.gone) continue;
    ColdTable& cold = *tables_.find(row.table->name_)->second;
    ++cold.values_;
    cold.stored_ = true;
    (row.key->space == Namespace{} ? cold.plain_ : cold.spaced_) = true;
  }
  for (const auto& [name, cold] : tables_) {
    if (cold->table_ != nullptr) cold->table_->clear();
    cold->absent_.clear();
    cold->gone_.clear();
    cold->bytes_ = 0;
  }
  return Status();
}

/// Sorted: the keys that the table has given up and not got again.
void ColdState::add_gone(const ColdTable& table, std::vector<Row>& rows) const {
  for (const StateKey& key : table.gone_) {
    if (!table.table_->has(key.view())) rows.push_back({&table, &key, true});
  }
  std::ranges::sort(rows, [](const Row& a, const Row& b) { return *a.key < *b.key; });
}

Status ColdState::put_rows(const std::vector<Row>& rows) {
  return rows_.put(rows.size(), [&](size_t i, std::string& key, std::string& value) {
    const Row& row = rows[i];
    key.clear();
    append_cold_key(row.table->name_, row.key->view(), key);
    value = row.gone ? std::string() : row.table->table_->encoded(*row.key);
  });
}

Status ColdState::for_each(const std::string& name, const Visit& f) {
  STRAND_OK(hand_over());
  const std::string wanted = cold_name(name);
  return rows_.for_each([&](std::string_view key, std::string_view value) {
    const ColdKey read = read_cold_key(key);
    return read.name == wanted ? f(read, value) : Status();
  });
}

int64_t ColdState::values() const {
  int64_t values = 0;
  for (const auto& [name, cold] : tables_) values += cold->values_;
  return values;
}

int64_t ColdState::bytes() const {
  int64_t bytes = 0;
  for (const auto& [name, cold] : tables_) {
    if (cold->table_ != nullptr) cold->table_->measure();
    bytes += cold->bytes_;
  }
  return bytes;
}

Status ColdState::snapshot(SnapshotBuilder& out) {
  STRAND_OK(failed_);
  std::vector<Row> rows;
  for (const auto& [name, cold] : tables_) {
    std::vector<Row> of_table;
    add_gone(*cold, of_table);
    rows.insert(rows.end(), of_table.begin(), of_table.end());
  }
  std::ranges::stable_sort(rows, {}, [](const Row& row) { return row.key->group; });
  STRAND_OK(put_rows(rows));
  for (const auto& [name, cold] : tables_) {
    // Of a key that the table has got again, the store may still have the old value.
    std::erase_if(cold->gone_, [&](const StateKey& key) { return !cold->table_->has(key.view()); });
  }
  rows_.snapshot(out);
  return Status();
}

Status ColdState::put(const std::string& name, const std::vector<RawEntry>& entries) {
  const std::string prefix = cold_name(name);
  return rows_.put(entries.size(), [&](size_t i, std::string& key, std::string& value) {
    key.clear();
    append_cold_key(prefix, entries[i].key.view(), key);
    value = entries[i].value;
  });
}

bool ColdState::prunes() const {
  return std::ranges::any_of(tables_, [](const auto& entry) {
    const TableBase* table = entry.second->table_;
    return table != nullptr && table->prunes();
  });
}

Status ColdState::restored(const ClockOf& saved_at) {
  const auto prune = [&](std::string_view bytes, std::string& value) -> Result<bool> {
    const ColdKey read = read_cold_key(bytes);
    const TableBase* table = table_of(read.name).table_;
    const auto now = saved_at(read.key.group);
    if (table == nullptr || !table->prunes() || !now) return false;
    STRAND_TRY(std::string kept, table->pruned(value, *now));
    if (kept == value) return false;
    value = std::move(kept);
    return true;
  };
  if (prunes()) STRAND_OK(rows_.change(prune));
  return rows_.for_each([&](std::string_view key, std::string_view) {
    const ColdKey read = read_cold_key(key);
    ColdTable& cold = table_of(read.name);
    ++cold.values_;
    cold.stored_ = true;
    (read.key.space == Namespace{} ? cold.plain_ : cold.spaced_) = true;
    return Status();
  });
}

}  // namespace strand::state
