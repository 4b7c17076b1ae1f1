// Sessions of keys: intervals of time that grow together, each with its running aggregates.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "state/accumulators.h"
#include "state/key_table.h"

namespace strand::state {

/// The open sessions of many keys. Sessions of a key never touch each other: what touches is merged.
///
/// The newest session of a key lies in the key's row of a KeyTable, so that most rows touch no other memory
/// (with one COUNT: a cache line); older ones, which are there only while rows come out of order, hang behind
/// it. A key has one timer that counts, at or before the end of the session that ends first. It stays where
/// it is while sessions grow, and is set anew when it is reached, so that a row costs no timer. Keys without
/// sessions are swept out when they are the majority. Belongs to one operator.
class SessionTable {
 public:
  struct Session {
    int64_t start;
    int64_t end;  // first time that is not in it: that of the last row + gap
    Session* older;
    uint32_t timer;  // of the key, its low bits; only in its row
    uint32_t stamp;  // of the part of a batch that was given its accumulators last
    char* accumulators() { return reinterpret_cast<char*>(this) + sizeof(Session); }
    const char* accumulators() const { return reinterpret_cast<const char*>(this) + sizeof(Session); }
    bool open() const { return end > start; }
  };
  /// The instant at which a session with an end is closed: its last millisecond.
  using LastInstant = std::function<EventTime(int64_t end)>;

  SessionTable(std::shared_ptr<const Accumulators> accumulators, int64_t gap, LastInstant last_instant);

  /// The rows of keys; a new one has no session. Good until `sweep`.
  void find_or_add(std::span<const uint64_t> hashes, std::span<const std::string_view> keys,
                   std::span<char*> rows) {
    keys_.find_or_add(hashes, keys, rows);
  }
  /// Whether a row at `time` touches an open session of the key.
  bool touches(const char* row, int64_t time) const;
  /// The accumulators to add a row at `time` to: of the session that it touches, which grows; of all that it
  /// touches, which become one; or of a new one. They are good until `end_part`, which the caller calls when
  /// it has used them. Where some must move before that, `use` is called first, which must do both.
  template <class F>
  char* extend(char* row, int64_t time, F&& use) {
    auto* session = reinterpret_cast<Session*>(row);
    if (session->open() && time >= session->start && time <= session->end) [[likely]] {
      if (time + gap_ > session->end) session->end = time + gap_;
    } else {
      if (must_move(row, time)) use();
      session = extend_slowly(row, time);
    }
    session->stamp = part_;
    return session->accumulators();
  }
  void end_part() { ++part_; }

  /// Calls f(row, session) for each session that `watermark` closes, in the order of their ends, and forgets
  /// it.
  template <class F>
  Status close(EventTime watermark, F&& f);
  /// Gives memory that closed sessions have left back, if there is enough of it. Rows move.
  void sweep();

  // For a table that keeps a part of its sessions elsewhere.
  /// Whether the key of a row has a session.
  static bool is_open(const char* row) { return reinterpret_cast<const Session*>(row)->open(); }
  EventTime last_instant(int64_t end) const { return last_instant_(end); }
  /// The accumulators, zeros, of a new session that touches no other of its key.
  char* add(char* row, int64_t start, int64_t end) { return insert(row, start, end)->accumulators(); }
  /// Forgets all keys.
  void clear();
  int64_t keys() const { return keys_.size(); }
  StatePages& memory() { return memory_; }
  /// Bytes that are in use, with the timers of keys.
  int64_t used_bytes() const {
    return static_cast<int64_t>(memory_.used_bytes() + keys_.own_bytes() + values_.big_bytes()) +
           live_keys_ * static_cast<int64_t>(sizeof(Timer));
  }

  int64_t sessions() const { return sessions_; }
  int64_t bytes() const {
    return static_cast<int64_t>(memory_.bytes() + keys_.own_bytes() + values_.big_bytes());
  }
  ByteArena& values() { return values_; }
  const Accumulators& accumulators() const { return *accumulators_; }
  /// Calls f(row, session) for all sessions.
  template <class F>
  void for_each(F&& f) const {
    keys_.for_each([&](const char* row) {
      const auto* session = reinterpret_cast<const Session*>(row);
      for (; session != nullptr && session->open(); session = session->older) f(row, *session);
    });
  }

  /// For a snapshot, see KeyTable.
  std::vector<TablePart> freeze() { return keys_.parts(memory_.freeze()); }
  uint64_t freezes() const { return memory_.freezes(); }
  /// The number of sessions, and the sessions. On any thread.
  static void encode(const Accumulators& accumulators, const FrozenRows& rows, ByteWriter& out);
  /// Adds what `encode` wrote, without keys of other groups.
  Status decode(ByteReader& in, KeyGroupRange groups, int32_t max_parallelism);

 private:
  struct Timer {
    int64_t time;
    char* row;
  };
  struct Found {
    int64_t bucket;
    std::vector<Timer>* timers;  // null: not looked up
  };
  struct Closed {
    int64_t end;
    char* row;
  };
  static Session* newest(char* row) { return reinterpret_cast<Session*>(row); }
  bool touches(const Session& session, int64_t time) const {
    return time <= session.end && session.start <= time + gap_;
  }
  size_t session_bytes() const { return sizeof(Session) + accumulators_->bytes(); }
  /// Before a session is written to that did not come from `find_or_add` just now.
  void touch(Session& session) { memory_.touch(reinterpret_cast<const char*>(&session), session_bytes()); }

  bool must_move(char* row, int64_t time) const;
  Session* extend_slowly(char* row, int64_t time);
  Session* insert(char* row, int64_t start, int64_t end);
  void remove(char* row, const Session* session);
  void move(const Session& from, Session& to) const;
  Session* make_older();
  void set_timer(char* row);
  Found& found(int64_t bucket) { return found_[static_cast<uint64_t>(bucket) % found_.size()]; }
  void take_reached(int64_t watermark);
  void collect_closed(EventTime watermark);

  std::shared_ptr<const Accumulators> accumulators_;
  int64_t gap_;
  LastInstant last_instant_;
  int64_t bucket_;     // timers of as many milliseconds lie together
  StatePages memory_;  // outlives what lies on its pages
  KeyTable keys_;
  ByteArena values_;
  ByteArena older_;
  Session* spare_ = nullptr;
  std::map<int64_t, std::vector<Timer>> timers_;  // by bucket
  std::array<Found, 512> found_{};                // buckets by their low bits, so that few are looked up
  std::vector<Timer> reached_;
  std::vector<Closed> closed_;
  int64_t sessions_ = 0;
  int64_t live_keys_ = 0;
  int64_t closed_since_sweep_ = 0;
  uint32_t part_ = 1;
};

template <class F>
Status SessionTable::close(EventTime watermark, F&& f) {
  take_reached(watermark.millis);
  collect_closed(watermark);
  for (const Closed& closed : closed_) {
    const Session* session = newest(closed.row);
    while (session->end != closed.end) session = session->older;
    STRAND_OK(f(static_cast<const char*>(closed.row), *session));
    remove(closed.row, session);
  }
  for (const Timer& timer : reached_) {
    if (newest(timer.row)->open()) set_timer(timer.row);
  }
  reached_.clear();
  return Status();
}

}  // namespace strand::state
