#include "state/session_table.h"

#include <algorithm>
#include <cstring>

#include "base/floor_div.h"
#include "columnar/batch.h"

namespace strand::state {

namespace {

constexpr int64_t kBucketsInGap = 256;
constexpr size_t kTimersAhead = 16;      // whose rows are fetched
constexpr uint32_t kNoTimer = 1u << 31;  // is no low bits of a time
constexpr int64_t kSweepFrom = 4096;     // keys or sessions that are gone

/// The head of a session may lie in two cache lines.
void fetch(const char* row) {
  __builtin_prefetch(row, 1);
  __builtin_prefetch(row + sizeof(SessionTable::Session) - 1);
}

/// Enough to tell a timer from those that it has replaced: one taken for it by chance closes nothing.
uint32_t low_bits(int64_t time) { return static_cast<uint32_t>(time) & (kNoTimer - 1); }

}  // namespace

SessionTable::SessionTable(std::shared_ptr<const Accumulators> accumulators, int64_t gap,
                           LastInstant last_instant)
    : accumulators_(std::move(accumulators)),
      gap_(gap),
      last_instant_(std::move(last_instant)),
      bucket_(std::max<int64_t>(1, gap / kBucketsInGap)),
      keys_(memory_, session_bytes()),
      values_(memory_),
      older_(memory_) {}

bool SessionTable::touches(const char* row, int64_t time) const {
  const auto* session = reinterpret_cast<const Session*>(row);
  for (; session != nullptr && session->open(); session = session->older) {
    if (touches(*session, time)) return true;
  }
  return false;
}

/// Whether accumulators that are in use move: a newer session takes the key's row, or sessions merge.
bool SessionTable::must_move(char* row, int64_t time) const {
  const Session* session = newest(row);
  if (!session->open()) return false;
  if (time > session->end) return session->stamp == part_;
  size_t touched = 0;
  bool used = false;
  for (; session != nullptr; session = session->older) {
    if (!touches(*session, time)) continue;
    ++touched;
    used = used || session->stamp == part_;
  }
  return used && touched > 1;
}

/// Sessions are apart and sorted, so those that a row touches follow each other, and together touch no other.
SessionTable::Session* SessionTable::extend_slowly(char* row, int64_t time) {
  Session* session = newest(row);
  while (session != nullptr && session->open() && !touches(*session, time)) session = session->older;
  if (session == nullptr || !session->open()) return insert(row, time, time + gap_);
  touch(*session);
  session->start = std::min(session->start, time);
  session->end = std::max(session->end, time + gap_);
  while (session->older != nullptr && touches(*session->older, time)) {
    Session* merged = session->older;
    session->start = std::min(session->start, merged->start);
    const char* from = merged->accumulators();
    char* to = session->accumulators();
    accumulators_->combine({&from, 1}, {&to, 1}, values_);
    remove(row, merged);
  }
  return session;
}

/// A session that touches no other of the key.
SessionTable::Session* SessionTable::insert(char* row, int64_t start, int64_t end) {
  Session* session = newest(row);
  ++sessions_;
  if (!session->open()) {
    ++live_keys_;
    session->older = nullptr;
  } else if (start > session->start) {
    Session* older = make_older();
    move(*session, *older);
    older->older = session->older;
    session->older = older;
  } else {
    while (session->older != nullptr && session->older->start > start) session = session->older;
    touch(*session);
    Session* added = make_older();
    added->older = session->older;
    session->older = added;
    session = added;
  }
  session->start = start;
  session->end = end;
  session->stamp = 0;
  std::memset(session->accumulators(), 0, accumulators_->bytes());
  if (session->older == nullptr) set_timer(row);
  return session;
}

void SessionTable::remove(char* row, const Session* session) {
  --sessions_;
  ++closed_since_sweep_;
  Session* first = newest(row);
  touch(*first);
  Session* gone = first->older;
  if (session != first) {
    Session* newer = first;
    while (newer->older != session) newer = newer->older;
    gone = newer->older;
    touch(*newer);
    newer->older = gone->older;
  } else if (gone != nullptr) {
    move(*gone, *first);
    first->older = gone->older;
  } else {
    first->end = first->start;
    --live_keys_;
    return;
  }
  touch(*gone);
  gone->older = spare_;
  spare_ = gone;
}

/// The contents, without the places in the chain.
void SessionTable::move(const Session& from, Session& to) const {
  to.start = from.start;
  to.end = from.end;
  to.stamp = from.stamp;
  std::memcpy(to.accumulators(), from.accumulators(), accumulators_->bytes());
}

SessionTable::Session* SessionTable::make_older() {
  if (spare_ == nullptr) return reinterpret_cast<Session*>(older_.allocate(session_bytes()));
  Session* taken = spare_;
  spare_ = taken->older;
  return taken;
}

/// At the end of the oldest session, which ends first.
void SessionTable::set_timer(char* row) {
  const Session* oldest = newest(row);
  while (oldest->older != nullptr) oldest = oldest->older;
  const int64_t time = last_instant_(oldest->end).millis;
  touch(*newest(row));
  newest(row)->timer = low_bits(time);
  const int64_t bucket = floor_div(time, bucket_);
  Found& there = found(bucket);
  if (there.timers == nullptr || there.bucket != bucket) there = {bucket, &timers_[bucket]};
  there.timers->push_back({time, row});
}

void SessionTable::take_reached(int64_t watermark) {
  reached_.clear();
  while (!timers_.empty() && timers_.begin()->first <= floor_div(watermark, bucket_)) {
    std::vector<Timer>& bucket = timers_.begin()->second;
    // Only the last one has timers that are not reached.
    const bool whole = timers_.begin()->first < floor_div(watermark, bucket_);
    size_t kept = 0;
    for (size_t i = 0; i < bucket.size(); ++i) {
      if (i + kTimersAhead < bucket.size()) fetch(bucket[i + kTimersAhead].row);
      const Timer timer = bucket[i];
      if (!whole && timer.time > watermark) {
        bucket[kept++] = timer;
        continue;
      }
      // A timer that was replaced by another does not count.
      Session* session = newest(timer.row);
      if (!session->open() || session->timer != low_bits(timer.time)) continue;
      touch(*session);
      session->timer = kNoTimer;  // the same one may be here twice
      reached_.push_back(timer);
    }
    bucket.resize(kept);
    if (!bucket.empty()) return;
    found(timers_.begin()->first).timers = nullptr;
    timers_.erase(timers_.begin());
  }
}

void SessionTable::collect_closed(EventTime watermark) {
  closed_.clear();
  for (const Timer& timer : reached_) {
    for (const Session* session = newest(timer.row); session != nullptr; session = session->older) {
      if (last_instant_(session->end) <= watermark) closed_.push_back({session->end, timer.row});
    }
  }
  std::ranges::stable_sort(closed_, {}, &Closed::end);
}

void SessionTable::sweep() {
  const bool many_keys = keys_.size() - live_keys_ > live_keys_ + kSweepFrom;
  const bool many_bytes = accumulators_->keeps_bytes() && closed_since_sweep_ > sessions_ + kSweepFrom;
  if (!many_keys && !many_bytes) return;
  closed_since_sweep_ = 0;
  KeyTable keys(memory_, session_bytes());
  ByteArena values(memory_);
  ByteArena older(memory_);
  older_.swap(older);
  spare_ = nullptr;
  timers_.clear();
  found_.fill({});
  keys_.for_each([&](const char* row) {
    const auto* from = reinterpret_cast<const Session*>(row);
    if (!from->open()) return;
    const uint64_t hash = KeyTable::hash_of(row);
    const std::string_view key = KeyTable::key_of(row);
    char* copied = nullptr;
    keys.find_or_add({&hash, 1}, {&key, 1}, {&copied, 1});
    for (Session* to = newest(copied);; to = to->older) {
      std::memset(static_cast<void*>(to), 0, session_bytes());
      to->start = from->start;
      to->end = from->end;
      accumulators_->copy(from->accumulators(), to->accumulators(), values);
      from = from->older;
      if (from == nullptr) break;
      to->older = make_older();
    }
    set_timer(copied);
  });
  keys_.swap(keys);
  values_.swap(values);
}

void SessionTable::clear() {
  keys_.clear();
  values_.clear();
  older_.clear();
  spare_ = nullptr;
  timers_.clear();
  found_.fill({});
  sessions_ = 0;
  live_keys_ = 0;
  closed_since_sweep_ = 0;
}

void SessionTable::encode(const Accumulators& accumulators, const FrozenRows& rows, ByteWriter& out) {
  ByteWriter all;
  int64_t sessions = 0;
  std::vector<char> older(sizeof(Session) + accumulators.bytes());
  rows.for_each([&](const char* row) {
    const auto* session = reinterpret_cast<const Session*>(row + KeyTable::kKeyBytes);
    for (; session->open(); session = reinterpret_cast<const Session*>(older.data())) {
      ++sessions;
      KeyTable::encode_key(rows, row, all);
      all.put(session->start);
      all.put(session->end);
      accumulators.encode(session->accumulators(), *rows.memory, all);
      if (session->older == nullptr) break;
      rows.memory->read(reinterpret_cast<const char*>(session->older), older.size())
          .copy(older.data(), older.size());
    }
  });
  const std::string bytes = all.take();
  out.put(sessions);
  out.put_raw(bytes.data(), bytes.size());
}

Status SessionTable::decode(ByteReader& in, KeyGroupRange groups, int32_t max_parallelism) {
  STRAND_TRY(const int64_t sessions, in.get<int64_t>());
  keys_.reserve(sessions / max_parallelism * (groups.last - groups.first + 1), in.remaining());
  const auto wanted = [&](uint64_t hash) {
    return groups.contains(columnar::key_group(hash, max_parallelism));
  };
  const auto skip = [&](ByteReader& stored) -> Status {
    STRAND_OK(skip_bytes(stored, 16));  // start, end
    return accumulators_->skip(stored);
  };
  return keys_.decode(in, sessions, wanted, skip, [&](ByteReader& stored, char* row) -> Status {
    STRAND_TRY(const int64_t start, stored.get<int64_t>());
    STRAND_TRY(const int64_t end, stored.get<int64_t>());
    return accumulators_->decode(stored, insert(row, start, end)->accumulators(), values_);
  });
}

}  // namespace strand::state
