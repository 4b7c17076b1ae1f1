// Keys that were new, in the order in which they came: what an incremental snapshot consists of.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "state/id_key.h"

namespace strand::state {

/// Memory of logs, recycled. Thread-safe: a log may end on the executor.
class IdLogMemory {
 public:
  static constexpr size_t kChunkBytes = size_t{192} << 10;
  std::unique_ptr<char[]> take();
  void give(std::unique_ptr<char[]> chunk);

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<char[]>> free_;
};

/// Keys with expiry and key group. Filled by one thread; immutable once it is shared.
class IdLog {
 public:
  explicit IdLog(std::shared_ptr<IdLogMemory> memory) : memory_(std::move(memory)) {}
  ~IdLog();
  IdLog(const IdLog&) = delete;
  IdLog& operator=(const IdLog&) = delete;

  void append(const IdKey& key, uint64_t meta);
  int64_t size() const { return uuids_ + others_; }
  int64_t bytes() const;
  /// The latest expiry of all keys; min() if there is none.
  EventTime latest() const { return size() == 0 ? EventTime::min() : IdMeta::expiry(latest_ << 15); }

  int64_t uuids() const { return uuids_; }
  int64_t others() const { return others_; }
  /// Appends the 24 bytes of each UUID, and the texts in the form of a section.
  void copy_uuids(std::string& out) const;
  void copy_others(std::string& out) const { out += texts_; }

 private:
  static constexpr size_t kEntryBytes = 24;
  static constexpr size_t kPerChunk = IdLogMemory::kChunkBytes / kEntryBytes;

  std::shared_ptr<IdLogMemory> memory_;
  std::vector<std::unique_ptr<char[]>> chunks_;
  std::string texts_;
  int64_t uuids_ = 0;
  int64_t others_ = 0;
  uint64_t latest_ = 0;
};

/// Format 1 of a section: latest expiry (i64), UUIDs (u64), others (u64); per UUID its 16 bytes and meta
/// (u64); per other key meta (u64), length (u32, all ones for NULL), bytes.
inline constexpr int32_t kIdSectionVersion = 1;
std::string encode_ids(const std::vector<std::shared_ptr<const IdLog>>& logs);

struct IdSectionHead {
  EventTime latest;
  uint64_t uuids = 0;
  uint64_t others = 0;
};
/// Calls f(key, meta) for each key of a section. Error: kCheckpointUnreadable.
Result<IdSectionHead> decode_ids(std::string_view bytes,
                                 const std::function<void(const IdKey&, uint64_t)>& f);

}  // namespace strand::state
