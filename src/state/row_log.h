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
/// A section counts as written when `written` says so for the newest snapshot. Belongs to one operator;
/// sections that are being written keep the memory that they read.
class RowLog {
 public:
  static constexpr size_t kSectionsMax = 24;
  static constexpr uint64_t kMergedMax = uint64_t{64} << 20;
  /// Dead bytes that are not worth the work.
  static constexpr uint64_t kSlackBytes = uint64_t{256} << 10;

  enum class Kind : uint32_t { kRow = 0, kHead = 1, kEnd = 2 };
  struct Record {
    Kind kind;
    uint32_t id;
    uint64_t hash;          // kRow
    std::string_view head;  // kRow, kHead
    std::string_view body;  // kRow
    const char* at;
    size_t size;  // of the whole record
  };

  RowLog(std::string name, int32_t version, size_t head_bytes)
      : name_(std::move(name)), version_(version), head_bytes_(head_bytes) {}

  /// Returns where the record lies.
  const char* row(uint32_t id, uint64_t hash, const void* head, std::string_view body);
  void head(uint32_t id, const void* head);
  void end_of(uint32_t id);
  /// The row at `at` does not count any more.
  void dead(const char* at) { live_ -= record_at(at).size; }
  /// The row at `at`, which was adopted, counts.
  void alive(const char* at) { live_ += record_at(at).size; }

  Record record_at(const char* at) const;
  std::string_view body_at(const char* at) const;
  static uint64_t hash_at(const char* at);

  bool owes() const { return end_ - begin_ > 2 * live_ + kSlackBytes; }
  Record oldest() const;
  void drop_oldest();
  /// Where the next record will begin, in bytes since the first.
  uint64_t end() const { return end_; }
  int64_t memory_bytes() const { return memory_bytes_; }

  void snapshot(SnapshotBuilder& out);
  void written(Epoch epoch, const std::vector<SectionRef>& refs);

  /// What one subtask wrote, in the order of the log.
  struct Saved {
    std::vector<Section> sections;
    bool of(KeyGroupRange groups) const {
      return std::ranges::all_of(sections, [&](const Section& s) { return s.ref.groups == groups; });
    }
  };
  /// The logs of those of `sections` that have this name. Errors: kCheckpointUnreadable, kNewerFormat.
  Result<std::vector<Saved>> logs_in(const std::vector<Section>& sections) const;
  /// A new log goes on with one that was saved: later snapshots refer to its files.
  void adopt(const Saved& saved);
  /// Calls f(record) for each record in order; f gives a Status.
  template <class F>
  Status read(const Saved& saved, F&& f) const;

 private:
  struct Chunk {
    uint64_t from;  // place of its first byte in the log
    size_t used;
    size_t bytes;
    std::shared_ptr<const char> memory;
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
    uint64_t until = 0;
    size_t merged_from = 0;  // of durable_
    size_t merged = 0;
  };
  char* room(size_t size);
  Result<Record> parse(std::string_view bytes) const;
  Status damaged(const Section& section) const;
  void add_section(SnapshotBuilder& out, uint64_t from, uint64_t until) const;
  void choose_merge();

  std::string name_;
  int32_t version_;
  size_t head_bytes_;
  std::deque<Chunk> chunks_;
  char* free_ = nullptr;  // of the last chunk
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
  for (const Section& section : saved.sections) {
    std::string_view rest = section.bytes().substr(kRowLogHeader);
    while (!rest.empty()) {
      const auto record = parse(rest);
      if (!record.ok()) return damaged(section);
      STRAND_OK(f(*record));
      rest.remove_prefix(record->size);
    }
  }
  return Status();
}

}  // namespace strand::state
