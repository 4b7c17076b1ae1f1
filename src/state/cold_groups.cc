#include "state/cold_groups.h"

#include <algorithm>
#include <cstring>

#include "columnar/batch.h"
#include "state/spill/ordered_key.h"

namespace strand::state {

namespace {

constexpr size_t kGroupBytes = sizeof(uint16_t);

/// Key group, whether the key is NULL, its bytes.
void append_row_key(std::string_view key, int32_t group, std::string& out) {
  append_ordered(static_cast<uint16_t>(group), out);
  out += static_cast<char>(key.data() == nullptr ? 1 : 0);
  out += key;
}

std::string_view key_in(std::string_view stored) {
  return stored[kGroupBytes] != 0 ? std::string_view() : stored.substr(kGroupBytes + 1);
}

}  // namespace

ColdGroups::ColdGroups(SpillSpace& space, StatePages& memory, AggregateTable& table, KeyGroupRange groups,
                       int32_t max_parallelism)
    : memory_(memory),
      table_(table),
      max_parallelism_(max_parallelism),
      lowest_(std::make_shared<std::atomic<int64_t>>(EventTime::min().millis)),
      rows_(space, groups, expired(table.layout(), lowest_)) {}

RowSpill::Useless ColdGroups::expired(const AggregateLayout& layout,
                                      std::shared_ptr<const std::atomic<int64_t>> lowest) {
  if (!layout.expiry) return nullptr;
  return [lowest = std::move(lowest)](std::string_view, std::string_view value) {
    int64_t expiry = 0;  // the last of the values
    std::memcpy(&expiry, value.data() + value.size() - sizeof expiry, sizeof expiry);
    return expiry != EventTime::max().millis && expiry <= lowest->load();
  };
}

Status ColdGroups::bring_back(std::span<char* const> rows) {
  if (rows_.empty()) return Status();
  missing_.clear();
  for (char* row : rows) {
    if (table_.is_new(row)) missing_.push_back(row);
  }
  if (missing_.empty()) return Status();
  std::ranges::sort(missing_);
  const auto again = std::ranges::unique(missing_);
  missing_.erase(again.begin(), again.end());
  key_bytes_.clear();
  key_ends_.clear();
  for (const char* row : missing_) {
    append_row_key(KeyTable::key_of(row), columnar::key_group(KeyTable::hash_of(row), max_parallelism_),
                   key_bytes_);
    key_ends_.push_back(key_bytes_.size());
  }
  keys_.clear();
  size_t from = 0;
  for (const size_t end : key_ends_) {
    keys_.push_back(std::string_view(key_bytes_).substr(from, end - from));
    from = end;
  }
  Status status;
  STRAND_OK(rows_.take(keys_, [&](size_t i, std::string_view value) {
    ByteReader values(value.substr(sizeof(uint64_t)));
    if (status.ok()) status = table_.decode_values(values, missing_[i]);
  }));
  return status;
}

Status ColdGroups::make_room() {
  const size_t used = memory_.used_bytes() + table_.own_bytes();
  return table_.size() > 0 && static_cast<int64_t>(used) > rows_.budget() / 2 ? hand_over() : Status();
}

Status ColdGroups::hand_over() {
  struct Placed {
    int32_t group;
    std::string_view key;
    const char* row;
  };
  std::vector<Placed> rows;
  rows.reserve(static_cast<size_t>(table_.size()));
  table_.for_each([&](const char* row) {
    rows.push_back(
        {columnar::key_group(KeyTable::hash_of(row), max_parallelism_), KeyTable::key_of(row), row});
  });
  std::ranges::sort(rows, [](const Placed& a, const Placed& b) {
    if (a.group != b.group) return a.group < b.group;
    const bool a_null = a.key.data() == nullptr;
    const bool b_null = b.key.data() == nullptr;
    return a_null != b_null ? b_null : a.key < b.key;
  });
  {
    const auto frozen = memory_.freeze();  // only for its reader of long values
    STRAND_OK(rows_.put(rows.size(), [&](size_t i, std::string& key, std::string& value) {
      key.clear();
      append_row_key(rows[i].key, rows[i].group, key);
      ByteWriter values;
      values.put(KeyTable::hash_of(rows[i].row));
      table_.encode_values(rows[i].row, *frozen, values);
      value = values.take();
    }));
  }
  table_.clear();
  return Status();
}

/// A row of the store becomes one of the table.
Status ColdGroups::load(std::string_view key, std::string_view value, AggregateTable& table, char** row) {
  ByteReader values(value);
  STRAND_TRY(const uint64_t hash, values.get<uint64_t>());
  const std::string_view bytes = key_in(key);
  table.find_or_add({&hash, 1}, {&bytes, 1}, {row, 1});
  return table.decode_values(values, *row);
}

Status ColdGroups::read(const std::vector<Section>& sections, KeyGroupRange groups, AggregateTable& table) {
  return RowSpill::read(sections, groups, [&](std::string_view key, std::string_view value) {
    char* row = nullptr;
    return load(key, value, table, &row);
  });
}

}  // namespace strand::state
