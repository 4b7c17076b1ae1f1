// Rows with numbers, whose changes are what a snapshot writes.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "state/row_log.h"

namespace strand::state {

/// Rows in a row log, each with a Row in memory: what changes of it (`Row::Head head`, which the log has,
/// too) and whatever else its owner wants to know.
///
/// Numbers of rows that ended are used again. Bodies stay where they are until `tidy`, which the owner calls
/// after each batch; it does some work for what was changed since, never more. With a spill space, bodies are
/// what goes there, each is also good until `let_go`, and memory keeps a slot for each row. Belongs to one
/// operator.
template <class Row>
class LoggedRows {
 public:
  using Head = typename Row::Head;
  using Id = uint32_t;
  static constexpr Id kNone = ~Id{0};
  static constexpr size_t kHeadBytes = std::is_empty_v<Head> ? 0 : sizeof(Head);
  static_assert(std::is_empty_v<Head> ||
                (std::is_trivially_copyable_v<Head> && std::has_unique_object_representations_v<Head>));

  LoggedRows(std::string name, int32_t version) : log_(std::move(name), version, kHeadBytes) {}

  /// From now on bodies without room in memory go there, where it is not null. Before the first row.
  Status spill_to(SpillSpace* space) { return space == nullptr ? Status() : log_.spill_to(*space); }

  Id add(uint64_t hash, const Head& head, std::string_view body) {
    const Id id = take_number();
    put(id, hash, head, body);
    return id;
  }
  /// Another body; the head as it is now.
  void replace(Id id, std::string_view body) {
    Slot& slot = slot_of(id);
    const RowLog::Record old = log_.record_at(slot.at);
    end_record(old.size);
    slot.at = log_.row(id, old.hash, &slot.row.head, body);
  }
  /// The head has been changed.
  void changed(Id id) { log_.head(id, &slot_of(id).row.head); }
  void erase(Id id) {
    Slot& slot = slot_of(id);
    end_record(log_.record_at(slot.at).size);
    log_.end_of(id);
    slot.at = {};
    free_.push_back(id);
    --used_;
  }

  /// Whether there is a row of that number, of those that were ever given.
  bool has(Id id) const { return static_cast<bool>(slot_of(id).at); }
  Row& operator[](Id id) { return slot_of(id).row; }
  const Row& operator[](Id id) const { return slot_of(id).row; }
  std::string_view body(Id id) const { return log_.body_at(slot_of(id).at); }
  uint64_t hash(Id id) const { return log_.hash_at(slot_of(id).at); }
  int64_t size() const { return used_; }
  int64_t memory_bytes() const { return log_.memory_bytes() + slot_bytes(); }
  /// In the order of their numbers. Lets each go before the next one; ends behind one that could not be
  /// read.
  template <class F>
  void for_each(F&& f) const {
    for (Id id = 0; id < numbers_; ++id) {
      if (!slot_of(id).at) continue;
      f(id);
      if (!log_.intact().ok()) return;
      log_.let_go();
    }
  }
  /// In the order of their numbers.
  std::vector<Id> ids() const {
    std::vector<Id> all;
    for (Id id = 0; id < numbers_; ++id) {
      if (slot_of(id).at) all.push_back(id);
    }
    return all;
  }
  /// Between rows of a batch: no body is looked at any more, so memory need not hold what the next one does
  /// not read.
  void let_go() const { log_.let_go(); }
  /// Ok while every body was read. Else what follows of the last one is wrong: no more may be done with these
  /// rows.
  Status intact() const { return log_.intact(); }
  void prefetch(Id id) const {
    if (id < numbers_) __builtin_prefetch(&slot_of(id));
  }
  void prefetch_body(Id id) const {
    if (id < numbers_ && !slot_of(id).at.is_cold()) __builtin_prefetch(slot_of(id).at.memory());
  }

  /// Shortens the log by some of what is dead, and hands over what has no room in memory, where the owner
  /// has that many bytes for these rows besides. Errors: kDiskFull, kIo, that of `intact`.
  Status tidy(int64_t beside = 0) {
    STRAND_OK(intact());
    uint64_t left = kTidyFactor * (log_.end() - tidied_ + std::exchange(freed_, 0));
    while (left > 0 && log_.owes()) {
      STRAND_OK(log_.reach_oldest());
      const RowLog::Record record = log_.oldest();
      Slot& slot = slot_of(record.id);
      if (slot.at == record.at) {
        slot.at = log_.row(record.id, record.hash, &slot.row.head, record.body);
        log_.dead(record.size);
      }
      left -= std::min<uint64_t>(left, record.size);
      log_.drop_oldest(record.size);
    }
    tidied_ = log_.end();
    return log_.spills() ? hand_over(beside) : Status();
  }

  void snapshot(SnapshotBuilder& out) { log_.snapshot(out); }
  void written(Epoch epoch, const std::vector<SectionRef>& refs) { log_.written(epoch, refs); }

  /// Those rows of `sections` with whose hash `mine` is true; only once, before anything is added. `groups`
  /// are those of the subtask: what it wrote itself stays where it is.
  template <class Mine>
  Status restore(const std::vector<Section>& sections, KeyGroupRange groups, Mine&& mine) {
    STRAND_TRY(const std::vector<RowLog::Saved> logs, log_.logs_in(sections));
    if (logs.size() == 1 && logs[0].of(groups)) return adopt(logs[0]);
    for (const RowLog::Saved& log : logs) STRAND_OK(add_all(log, mine));
    return Status();
  }

 private:
  static constexpr uint64_t kNowhere = ~uint64_t{0};
  static constexpr uint64_t kTidyFactor = 4;  // bytes looked at for a byte written or freed
  static constexpr uint32_t kSlotBits = 10;
  static constexpr size_t kSlots = size_t{1} << kSlotBits;
  struct Slot {
    RowLog::At at;  // in the log; nowhere: there is no such row
    Row row{};
  };

  Slot& slot_of(Id id) const { return slots_[id >> kSlotBits][id & (kSlots - 1)]; }
  void end_record(size_t size) {
    log_.dead(size);
    freed_ += size;
  }
  void put(Id id, uint64_t hash, const Head& head, std::string_view body) {
    Slot& slot = slot_of(id);
    slot.row = Row{};
    slot.row.head = head;
    slot.at = log_.row(id, hash, &slot.row.head, body);
    ++used_;
  }
  int64_t slot_bytes() const { return static_cast<int64_t>(slots_.size() * kSlots * sizeof(Slot)); }
  Status hand_over(int64_t beside) {
    log_.let_go();
    while (log_.crowded(beside + slot_bytes())) {
      STRAND_OK(log_.spill_oldest([&](const RowLog::Record& record, RowLog::At at) {
        if (record.kind == RowLog::Kind::kRow && slot_of(record.id).at == record.at)
          slot_of(record.id).at = at;
      }));
    }
    return Status();
  }
  void make_numbers(Id until) {
    while (slots_.size() * kSlots < until) slots_.push_back(std::make_unique<Slot[]>(kSlots));
    numbers_ = std::max(numbers_, until);
  }
  Id take_number() {
    if (free_.empty()) {
      make_numbers(numbers_ + 1);
      return numbers_ - 1;
    }
    const Id id = free_.back();
    free_.pop_back();
    return id;
  }

  Status adopt(const RowLog::Saved& saved) {
    std::vector<uint32_t> sizes;  // of the rows that count
    const auto take = [&](const RowLog::Record& record) {
      make_numbers(record.id + 1);
      if (record.id >= sizes.size()) sizes.resize(record.id + 1);
      Slot& slot = slot_of(record.id);
      if (record.kind == RowLog::Kind::kEnd) {
        slot = Slot{};
        sizes[record.id] = 0;
      } else if (record.kind == RowLog::Kind::kRow) {
        slot.at = record.at;
        sizes[record.id] = static_cast<uint32_t>(record.size);
      }
      if (!record.head.empty()) std::memcpy(&slot.row.head, record.head.data(), kHeadBytes);
    };
    STRAND_OK(log_.adopt(saved, take, [&] { return hand_over(0); }));
    for (Id id = numbers_; id > 0; --id) {
      if (slot_of(id - 1).at) {
        log_.alive(sizes[id - 1]);
        ++used_;
      } else {
        free_.push_back(id - 1);
      }
    }
    tidied_ = log_.end();
    return Status();
  }

  /// Reads them twice: which records count, then those. Numbers are given in the order of the old ones.
  template <class Mine>
  Status add_all(const RowLog::Saved& saved, Mine& mine) {
    struct Last {
      uint64_t place = kNowhere;
      Id id = kNone;
      Head head{};
    };
    std::vector<Last> rows;  // by their old numbers
    STRAND_OK(log_.read(saved, [&](const RowLog::Record& record, uint64_t place) {
      if (record.id >= rows.size()) rows.resize(record.id + 1);
      Last& last = rows[record.id];
      if (record.kind != RowLog::Kind::kHead) last.place = kNowhere;
      if (record.kind == RowLog::Kind::kRow && mine(record.hash)) last.place = place;
      if (!record.head.empty()) std::memcpy(&last.head, record.head.data(), kHeadBytes);
      return Status();
    }));
    for (Last& last : rows) {
      if (last.place != kNowhere) last.id = take_number();
    }
    return log_.read(saved, [&](const RowLog::Record& record, uint64_t place) {
      const Last& last = rows[record.id];
      if (last.id == kNone || last.place != place) return Status();
      put(last.id, record.hash, last.head, record.body);
      return log_.spills() ? hand_over(0) : Status();
    });
  }

  RowLog log_;
  std::vector<std::unique_ptr<Slot[]>> slots_;
  std::vector<Id> free_;
  Id numbers_ = 0;
  int64_t used_ = 0;
  uint64_t tidied_ = 0;
  uint64_t freed_ = 0;  // bytes that ended since
};

}  // namespace strand::state
