// Changes of rows behind each other, in memory as in files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "state/cold_records.h"
#include "state/snapshot.h"

namespace strand::state {

/// A row with a number and the hash of its key: a head of fixed size, and a body that never changes. Each
/// change is a record at the end of the log: a row that comes (or has another body), its new head, its end.
/// The last record of a number counts, so the log is the state, and memory that was written once does not
/// change any more: a snapshot refers to it and copies nothing.
///
/// A snapshot is the log in sections, in its order: those that earlier epochs wrote, and one with what came
/// since. Where there are more than kSectionsMax and two for each kMergedMax bytes, the smallest neighbours
/// are written again as one. The owner keeps the log short from its old end: while more of it is dead than
/// alive (`owes`), it takes the oldest record and puts it at the end if it still counts
/// (docs/adr/0014-row-logs.md). So files and memory hold about twice what lives.
///
/// With a spill space the oldest part of the log that has no room in memory lies there (`spill_oldest`), and
/// its records are read one by one; sections are then no larger than such a space wants them
/// (docs/adr/0015-cold-rows.md).
///
/// A section counts as written when `written` says so for the newest snapshot. Belongs to one operator;
/// sections that are being written keep the bytes that they read.
class RowLog {
 public:
  static constexpr size_t kSectionsMax = 24;
  static constexpr uint64_t kMergedMax = uint64_t{64} << 20;
  /// Dead bytes that are not worth the work.
  static constexpr uint64_t kSlackBytes = uint64_t{256} << 10;

  enum class Kind : uint32_t { kRow = 0, kHead = 1, kEnd = 2 };
  /// Where a record lies: in memory, or at a place of the log that is on the local disk. The default is
  /// nowhere.
  class At {
   public:
    At() = default;
    explicit At(const char* memory) : bits_(reinterpret_cast<uintptr_t>(memory)) {}
    static At cold(uint64_t place) {
      At at;
      at.bits_ = kCold | place;
      return at;
    }
    explicit operator bool() const { return bits_ != kNowhere; }
    /// Nowhere is cold: a look at a row that is not there costs no check where all is in memory.
    bool is_cold() const { return (bits_ & kCold) != 0; }
    uint64_t place() const { return bits_ & ~kCold; }
    const char* memory() const { return reinterpret_cast<const char*>(bits_); }
    friend bool operator==(At, At) = default;

   private:
    static constexpr uint64_t kCold = uint64_t{1} << 63;
    static constexpr uint64_t kNowhere = ~uint64_t{0};
    uint64_t bits_ = kNowhere;
  };
  struct Record {
    Kind kind;
    uint32_t id;
    uint64_t hash;          // kRow
    std::string_view head;  // kRow, kHead
    std::string_view body;  // kRow
    At at;
    size_t size;  // of the whole record
  };
  /// Sections that are logs, in all of which this is so from this version on.
  static constexpr int32_t kVersionsFrom = 2;
  static bool is_section(const SectionRef& ref);

  RowLog(std::string name, int32_t version, size_t head_bytes)
      : name_(std::move(name)), version_(version), head_bytes_(head_bytes) {}

  /// From now on what has no room in memory goes there. Before the first record.
  Status spill_to(SpillSpace& space);

  /// Returns where the record lies.
  At row(uint32_t id, uint64_t hash, const void* head, std::string_view body);
  void head(uint32_t id, const void* head);
  void end_of(uint32_t id);
  /// A row of that many bytes does not count any more.
  void dead(size_t size) { live_ -= size; }
  /// Rows that were adopted and count have that many bytes.
  void alive(size_t size) { live_ += size; }

  /// What is read from the local disk is good until `let_go`. Where that fails it is a record of nothing, and
  /// `intact` says so from then on.
  Record record_at(At at) const { return record_of(bytes_at(at), at); }
  std::string_view body_at(At at) const;
  uint64_t hash_at(At at) const;
  void let_go() const {
    if (cold_ != nullptr) cold_->let_go();
  }

  Status intact() const { return cold_ == nullptr ? Status() : cold_->intact(); }

  bool owes() const { return end_ - begin_ > 2 * live_ + kSlackBytes; }
  /// Reads what `oldest` tells of, where that is on the local disk. Error: kIo.
  Status reach_oldest() {
    return chunks_.front().memory != nullptr || front_from_ == chunks_.front().from ? Status() : read_front();
  }
  /// Good until `drop_oldest`.
  Record oldest() const;
  /// Which has that many bytes.
  void drop_oldest(size_t size);
  /// Where the next record will begin, in bytes since the first.
  uint64_t end() const { return end_; }
  int64_t memory_bytes() const;

  bool spills() const { return cold_ != nullptr; }
  /// Whether `spill_oldest` shall be called, where the owner has that many bytes besides.
  bool crowded(int64_t beside);
  /// Hands over the oldest chunk that is in memory. Calls f(record, at) for each of its records, which lies
  /// there then. After an error it is in memory still.
  template <class F>
  Status spill_oldest(F&& f);

  void snapshot(SnapshotBuilder& out);
  void written(Epoch epoch, const std::vector<SectionRef>& refs);

  /// What one subtask wrote, in the order of the log.
  struct Saved {
    struct Part {
      Section section;
      uint64_t from;  // in the log
      uint64_t until;
    };
    std::vector<Part> parts;
    bool of(KeyGroupRange groups) const {
      return std::ranges::all_of(parts, [&](const Part& p) { return p.section.ref.groups == groups; });
    }
  };
  /// The logs of those of `sections` that have this name. Errors: kCheckpointUnreadable, kNewerFormat.
  Result<std::vector<Saved>> logs_in(const std::vector<Section>& sections) const;
  /// A new log goes on with one that was saved: later snapshots refer to its files. Calls f(record) for each
  /// record in order, and room() now and then, which may spill.
  template <class F, class Room>
  Status adopt(const Saved& saved, F&& f, Room&& room);
  /// Calls f(record, place) for each record in order, which is good until it returns; f gives a Status.
  template <class F>
  Status read(const Saved& saved, F&& f) const;

 private:
  struct Chunk {
    uint64_t from;  // place of its first byte in the log
    size_t used;
    size_t bytes;
    const char* memory;  // null: it lies in the spill space
    std::shared_ptr<ChunkBytes> home;
  };
  struct Durable {
    SectionRef ref;
    uint64_t from;
    uint64_t until;
  };
  /// What the newest snapshot writes.
  struct Attempt {
    Epoch epoch{0};
    uint64_t from = 0;
    std::vector<uint64_t> ends;  // of the new sections
    size_t merged_from = 0;      // of durable_
    size_t merged = 0;
  };
  char* room(size_t size);
  char* new_chunk(size_t bytes);
  /// No more comes into the last chunk.
  void seal();
  Status read_front();
  size_t chunk_most() const;
  const char* bytes_at(At at) const { return at.is_cold() ? read_cold(at.place()) : at.memory(); }
  const char* read_cold(uint64_t place) const;
  /// A record is whole in `bytes`.
  Record record_of(const char* bytes, At at) const;
  size_t record_size(const char* bytes) const;
  Result<Record> parse(std::string_view bytes) const;
  template <class F>
  void for_each_in(const Chunk& chunk, F&& f) const;
  Status damaged(const Section& section) const;
  /// Takes the first records of `rest` as a chunk; returns how many bytes. Damaged ones end it.
  size_t adopt_piece(const Section& loaded, std::string_view rest);
  uint64_t section_most() const;
  std::vector<uint64_t> section_ends(uint64_t from, uint64_t until) const;
  void add_section(SnapshotBuilder& out, uint64_t from, uint64_t until) const;
  void choose_merge();

  std::string name_;
  int32_t version_;
  size_t head_bytes_;
  std::deque<Chunk> chunks_;
  size_t cold_chunks_ = 0;  // the first ones
  std::unique_ptr<ColdRecords> cold_;
  std::string front_;                   // the first chunk, where it is cold and has been looked at
  uint64_t front_from_ = ~uint64_t{0};  // where it begins
  char* free_ = nullptr;                // of the last chunk
  size_t free_bytes_ = 0;
  size_t chunk_bytes_ = 0;
  int64_t memory_bytes_ = 0;
  uint64_t begin_ = 0;
  uint64_t end_ = 0;
  uint64_t live_ = 0;
  std::vector<Durable> durable_;  // without a gap
  Attempt attempt_;
};

/// In front of the records of a section: where the first lies in the log (u64), the size of heads (u32).
inline constexpr size_t kRowLogHeader = 12;

template <class F>
Status RowLog::read(const Saved& saved, F&& f) const {
  for (const Saved::Part& part : saved.parts) {
    STRAND_TRY(const Section loaded, part.section.loaded());
    std::string_view rest = loaded.bytes().substr(kRowLogHeader);
    while (!rest.empty()) {
      const auto record = parse(rest);
      if (!record.ok()) return damaged(part.section);
      STRAND_OK(f(*record, part.until - rest.size()));
      rest.remove_prefix(record->size);
    }
  }
  return Status();
}

template <class F, class Room>
Status RowLog::adopt(const Saved& saved, F&& f, Room&& room) {
  STRAND_CHECK(end_ == 0 && !saved.parts.empty());
  begin_ = end_ = saved.parts.front().from;
  for (const Saved::Part& part : saved.parts) {
    durable_.push_back({part.section.ref, part.from, part.until});
    STRAND_TRY(const Section loaded, part.section.loaded());
    std::string_view rest = loaded.bytes().substr(kRowLogHeader);
    while (!rest.empty()) {
      size_t left = adopt_piece(loaded, rest);
      rest.remove_prefix(left);
      for (const char* at = chunks_.back().memory; left > 0;) {
        const auto record = parse({at, left});
        if (!record.ok()) return damaged(part.section);
        f(*record);
        at += record->size;
        left -= record->size;
      }
      STRAND_OK(room());
    }
  }
  return Status();
}

template <class F>
void RowLog::for_each_in(const Chunk& chunk, F&& f) const {
  const char* at = chunk.memory + (std::max(begin_, chunk.from) - chunk.from);
  while (at < chunk.memory + chunk.used) {
    const Record record = record_of(at, At(at));
    f(record);
    at += record.size;
  }
}

template <class F>
Status RowLog::spill_oldest(F&& f) {
  if (cold_chunks_ + 1 == chunks_.size()) seal();
  Chunk& chunk = chunks_[cold_chunks_];
  STRAND_TRY(auto block, cold_->blocks().put({chunk.memory, chunk.used}));
  for_each_in(chunk, [&](const Record& record) {
    f(record, At::cold(chunk.from + static_cast<uint64_t>(record.at.memory() - chunk.memory)));
  });
  chunk.home->move_to(std::move(block));
  chunk.memory = nullptr;
  memory_bytes_ -= static_cast<int64_t>(chunk.bytes);
  ++cold_chunks_;
  return Status();
}

}  // namespace strand::state
