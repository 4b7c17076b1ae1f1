#include "state/cold_sessions.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "columnar/batch.h"
#include "state/spill/ordered_key.h"

namespace strand::state {

namespace {

constexpr int32_t kClosedVersion = 1;
constexpr uint64_t kSign = uint64_t{1} << 63;
constexpr size_t kDueHead = sizeof(int64_t);              // the instant
constexpr size_t kSessionKeyHead = sizeof(uint16_t) + 1;  // key group, whether the key is NULL

void append_session_key(std::string_view key, int32_t group, std::string& out) {
  append_ordered(static_cast<uint16_t>(group), out);
  out += static_cast<char>(key.data() == nullptr ? 1 : 0);
  out += key;
}

std::string_view session_key(std::string_view stored) {
  return stored[kSessionKeyHead - 1] != 0 ? std::string_view() : stored.substr(kSessionKeyHead);
}

void append_instant(int64_t millis, std::string& out) {
  append_ordered(static_cast<uint64_t>(millis) ^ kSign, out);
}

int64_t instant_of(std::string_view due) {
  uint64_t bits = 0;
  for (size_t i = 0; i < kDueHead; ++i) bits = bits << 8 | static_cast<uint8_t>(due[i]);
  return static_cast<int64_t>(bits ^ kSign);
}

/// The last of a row's bytes: when its last session ends.
int64_t last_of_row(std::string_view value) {
  int64_t last = 0;
  std::memcpy(&last, value.data() + value.size() - sizeof last, sizeof last);
  return last;
}

}  // namespace

ColdSessions::ColdSessions(SpillSpace& space, SessionTable& table, KeyGroupRange groups,
                           int32_t max_parallelism, Count count)
    : space_(space),
      table_(table),
      groups_(groups),
      max_parallelism_(max_parallelism),
      count_(std::move(count)),
      closed_(std::make_shared<std::atomic<int64_t>>(EventTime::min().millis)),
      rows_(space, groups, over(closed_)) {}

RowSpill::Useless ColdSessions::over(std::shared_ptr<const std::atomic<int64_t>> closed) {
  return [closed = std::move(closed)](std::string_view, std::string_view value) {
    return last_of_row(value) <= closed->load();
  };
}

Status ColdSessions::open() {
  if (due_ != nullptr) return Status();
  const auto past = [closed = closed_](std::string_view key, std::string_view) {
    return instant_of(key) <= closed->load();
  };
  STRAND_TRY(due_, space_.open({.lookups = false, .useless = past}));
  return Status();
}

Status ColdSessions::bring_back(std::span<char* const> rows) {
  if (rows_.empty()) return Status();
  missing_.clear();
  for (char* row : rows) {
    if (!SessionTable::is_open(row)) missing_.push_back(row);
  }
  std::ranges::sort(missing_);
  const auto again = std::ranges::unique(missing_);
  missing_.erase(again.begin(), again.end());
  key_bytes_.clear();
  key_ends_.clear();
  keys_.clear();
  for (const char* row : missing_) {
    append_session_key(KeyTable::key_of(row), columnar::key_group(KeyTable::hash_of(row), max_parallelism_),
                       key_bytes_);
    key_ends_.push_back(key_bytes_.size());
  }
  size_t from = 0;
  for (const size_t end : key_ends_) {
    keys_.push_back(std::string_view(key_bytes_).substr(from, end - from));
    from = end;
  }
  Status status;
  STRAND_OK(rows_.take(keys_, [&](size_t i, std::string_view value) {
    if (!status.ok()) return;
    const auto loaded = load(value, EventTime{closed_->load()}, table_, missing_[i]);
    if (loaded.ok()) {
      sessions_ -= *loaded;
    } else {
      status = loaded.status();
    }
  }));
  return status;
}

Result<EventTime> ColdSessions::bring_back_due(EventTime watermark) {
  if (due_ == nullptr || watermark <= looked_at_) return watermark;
  std::vector<std::string> found;
  std::vector<uint64_t> hashes;
  bool more = false;
  int64_t last = 0;
  std::string from;
  std::string until;
  append_instant(looked_at_ == EventTime::min() ? looked_at_.millis : looked_at_.millis + 1, from);
  if (watermark != EventTime::max()) append_instant(watermark.millis + 1, until);
  const auto view = due_->view();
  Status scanned = view->scan(from, until, [&](std::string_view key, std::string_view hash) {
    more = found.size() >= kDueKeys && instant_of(key) != last;
    if (more) return Status(ErrorCode::kInternal, "enough");
    last = instant_of(key);
    found.emplace_back(key.substr(kDueHead));
    std::memcpy(&hashes.emplace_back(), hash.data(), sizeof(uint64_t));
    return Status();
  });
  if (!more) STRAND_OK(std::move(scanned));
  std::vector<std::string_view> keys;
  for (const std::string& stored : found) keys.push_back(session_key(stored));
  std::vector<char*> rows(keys.size());
  table_.find_or_add(hashes, keys, rows);
  STRAND_OK(bring_back(rows));
  looked_at_ = more ? EventTime{last} : watermark;
  return looked_at_;
}

/// What a row holds of its key: the hash; the number of sessions; of each start, end, rows of the input,
/// accumulators; when the last one ends.
std::string ColdSessions::encoded(const Placed& placed, FrozenPages& frozen) const {
  ByteWriter sessions;
  uint32_t count = 0;
  EventTime last = EventTime::min();
  const auto* session = reinterpret_cast<const SessionTable::Session*>(placed.row);
  for (; session != nullptr; session = session->older) {
    ++count;
    last = std::max(last, table_.last_instant(session->end));
    sessions.put(session->start);
    sessions.put(session->end);
    sessions.put(count_(session->accumulators()));
    table_.accumulators().encode(session->accumulators(), frozen, sessions);
  }
  ByteWriter value;
  value.put(KeyTable::hash_of(placed.row));
  value.put(count);
  const std::string bytes = sessions.take();
  value.put_raw(bytes.data(), bytes.size());
  value.put(last.millis);
  return value.take();
}

Result<int64_t> ColdSessions::load(std::string_view value, EventTime closed, SessionTable& table, char* row) {
  ByteReader in(value.substr(sizeof(uint64_t)));
  STRAND_TRY(uint32_t left, in.get<uint32_t>());
  int64_t loaded = 0;
  for (; left > 0; --left) {
    STRAND_TRY(const int64_t start, in.get<int64_t>());
    STRAND_TRY(const int64_t end, in.get<int64_t>());
    STRAND_OK(skip_bytes(in, sizeof(int64_t)));  // rows of the input
    if (table.last_instant(end) <= closed) {
      STRAND_OK(table.accumulators().skip(in));
      continue;
    }
    ++loaded;
    STRAND_OK(table.accumulators().decode(in, table.add(row, start, end), table.values()));
  }
  return loaded;
}

Status ColdSessions::make_room() {
  return table_.keys() > 0 && table_.used_bytes() > rows_.budget() / 2 ? hand_over() : Status();
}

Status ColdSessions::hand_over() {
  std::vector<Placed> rows;
  std::vector<Due> due;
  table_.for_each([&](const char* row, const SessionTable::Session& session) {
    const int32_t group = columnar::key_group(KeyTable::hash_of(row), max_parallelism_);
    const bool newest = reinterpret_cast<const char*>(&session) == row;
    if (newest) rows.push_back({group, KeyTable::key_of(row), row});
    if (session.older != nullptr) return;
    Due& first = due.emplace_back(Due{{}, KeyTable::hash_of(row)});
    append_instant(table_.last_instant(session.end).millis, first.bytes);
    append_session_key(KeyTable::key_of(row), group, first.bytes);
  });
  std::ranges::sort(rows, [](const Placed& a, const Placed& b) {
    if (a.group != b.group) return a.group < b.group;
    const bool a_null = a.key.data() == nullptr;
    const bool b_null = b.key.data() == nullptr;
    return a_null != b_null ? b_null : a.key < b.key;
  });
  {
    const auto frozen = table_.memory().freeze();  // only for its reader of long values
    STRAND_OK(rows_.put(rows.size(), [&](size_t i, std::string& key, std::string& value) {
      key.clear();
      append_session_key(rows[i].key, rows[i].group, key);
      value = encoded(rows[i], *frozen);
    }));
  }
  STRAND_OK(put_due(due));
  sessions_ += table_.sessions();
  table_.clear();
  return Status();
}

Status ColdSessions::put_due(std::vector<Due>& due) {
  if (due.empty()) return Status();
  STRAND_OK(open());
  std::ranges::sort(due, {}, &Due::bytes);
  auto at = due.begin();
  const Status put = due_->put([&](std::string_view& key, std::string_view& value) {
    if (at == due.end()) return false;
    key = at->bytes;
    value = {reinterpret_cast<const char*>(&at->hash), sizeof at->hash};
    ++at;
    return true;
  });
  due.clear();
  return put;
}

Status ColdSessions::snapshot(SnapshotBuilder& out) {
  ByteWriter closed;
  closed.put(closed_->load());
  out.add(kSessionsClosedSection, kClosedVersion, closed.take());
  rows_.snapshot(out);
  return Status();
}

std::function<EventTime(int32_t)> ColdSessions::closed_at(const std::vector<Section>& sections) {
  std::vector<std::pair<KeyGroupRange, EventTime>> parts;
  for (const Section& section : sections) {
    if (section.ref.name != kSessionsClosedSection) continue;
    ByteReader in(section.bytes());
    if (const auto millis = in.get<int64_t>(); millis.ok())
      parts.emplace_back(section.ref.groups, EventTime{*millis});
  }
  return [parts](int32_t group) {
    for (const auto& [groups, time] : parts) {
      if (groups.contains(group)) return time;
    }
    return EventTime::min();
  };
}

namespace {

int32_t group_of_row(std::string_view key) {
  return static_cast<int32_t>(static_cast<uint8_t>(key[0])) << 8 | static_cast<uint8_t>(key[1]);
}

}  // namespace

/// Leaves out sessions that were closed; an empty value has none left.
Result<bool> ColdSessions::drop_closed(std::string& value, EventTime closed) const {
  ByteReader in(value);
  STRAND_TRY(const uint64_t hash, in.get<uint64_t>());
  STRAND_TRY(const uint32_t count, in.get<uint32_t>());
  ByteWriter kept;
  uint32_t left = 0;
  for (uint32_t i = 0; i < count; ++i) {
    const size_t begin = value.size() - in.remaining();
    STRAND_OK(skip_bytes(in, sizeof(int64_t)));
    STRAND_TRY(const int64_t end, in.get<int64_t>());
    STRAND_OK(skip_bytes(in, sizeof(int64_t)));
    STRAND_OK(table_.accumulators().skip(in));
    if (table_.last_instant(end) <= closed) continue;
    ++left;
    kept.put_raw(value.data() + begin, value.size() - in.remaining() - begin);
  }
  if (left == count) return false;
  ByteWriter changed;
  changed.put(hash);
  changed.put(left);
  const std::string bytes = kept.take();
  changed.put_raw(bytes.data(), bytes.size());
  changed.put(last_of_row(value));
  value = left == 0 ? std::string() : changed.take();
  return true;
}

Result<int64_t> ColdSessions::restore(const std::vector<Section>& sections,
                                      const std::function<Status(const Section&)>& decode) {
  STRAND_OK(rows_.restore(sections));
  const auto closed = closed_at(sections);
  STRAND_OK(rows_.change([&](std::string_view key, std::string& value) {
    return drop_closed(value, closed(group_of_row(key)));
  }));
  for (const Section& section : sections) {
    if (is_handed_over(section.ref)) continue;
    STRAND_OK(decode(section));
    STRAND_OK(hand_over());
  }
  return count_restored();
}

/// Of a row: its sessions, the rows of the input in them, and when the first of them ends.
Result<ColdSessions::Counted> ColdSessions::counted(std::string_view value) const {
  ByteReader in(value);
  Counted row;
  STRAND_TRY(row.hash, in.get<uint64_t>());
  STRAND_TRY(row.sessions, in.get<uint32_t>());
  for (uint32_t i = 0; i < row.sessions; ++i) {
    STRAND_OK(skip_bytes(in, sizeof(int64_t)));
    STRAND_TRY(const int64_t end, in.get<int64_t>());
    STRAND_TRY(const int64_t held, in.get<int64_t>());
    STRAND_OK(table_.accumulators().skip(in));
    row.first_end = std::min(row.first_end, table_.last_instant(end));
    row.rows += held;
  }
  return row;
}

/// And makes the index.
Result<int64_t> ColdSessions::count_restored() {
  sessions_ = 0;
  due_ = nullptr;
  int64_t rows = 0;
  std::vector<Due> due;
  const Status all = rows_.for_each([&](std::string_view key, std::string_view value) -> Status {
    STRAND_TRY(const Counted row, counted(value));
    sessions_ += row.sessions;
    rows += row.rows;
    Due& first = due.emplace_back(Due{{}, row.hash});
    append_instant(row.first_end.millis, first.bytes);
    first.bytes += key;
    return due.size() < kIndexed ? Status() : put_due(due);
  });
  STRAND_OK(all);
  STRAND_OK(put_due(due));
  return rows;
}

Status ColdSessions::read(const std::vector<Section>& sections, KeyGroupRange groups, SessionTable& table) {
  const auto closed = closed_at(sections);
  std::set<std::string, std::less<>> gone;
  const auto load_row = [&](std::string_view stored, std::string_view value) -> Status {
    if (value.empty()) gone.emplace(stored);
    if (gone.find(stored) != gone.end()) return Status();
    uint64_t hash = 0;
    std::memcpy(&hash, value.data(), sizeof hash);
    const std::string_view key = session_key(stored);
    char* row = nullptr;
    table.find_or_add({&hash, 1}, {&key, 1}, {&row, 1});
    if (SessionTable::is_open(row)) return Status();  // of what is newer
    const auto loaded = load(value, closed(group_of_row(stored)), table, row);
    return loaded.ok() ? Status() : loaded.status();
  };
  return RowSpill::read(sections, groups, load_row, /*newest_first=*/true);
}

}  // namespace strand::state
