// Sections of id tables in snapshots.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "state/id_log.h"
#include "state/snapshot.h"

namespace strand::state {

/// Format 1: the entries of UUIDs, the entries of other keys (see IdEntry), latest expiry (i64), number of
/// UUIDs (u64).
inline constexpr int32_t kIdSectionVersion = 1;
inline constexpr size_t kIdTailBytes = 16;
inline constexpr const char* kIdsSection = "ids";
inline constexpr const char* kMergedIdsSection = "ids-merged";

/// Refers to the pages.
SectionBytes id_section(IdPart part);

struct IdSectionTail {
  EventTime latest;
  uint64_t uuids = 0;
};
/// Error: kCheckpointUnreadable.
Result<IdSectionTail> read_id_tail(std::string_view bytes);
/// Takes the entry of a key that is no UUID off the front. Error: kCheckpointUnreadable.
Result<std::string_view> next_text_entry(std::string_view& bytes);

/// Calls f(key, meta, entry) for each key of a section.
template <class F>
Result<IdSectionTail> decode_ids(std::string_view bytes, F&& f) {
  STRAND_TRY(const IdSectionTail tail, read_id_tail(bytes));
  const size_t uuid_bytes = tail.uuids * IdEntry::kUuidBytes;
  for (size_t at = 0; at < uuid_bytes; at += IdEntry::kUuidBytes) {
    const std::string_view entry = bytes.substr(at, IdEntry::kUuidBytes);
    f(IdEntry::uuid(entry.data()), IdEntry::meta(entry.data()), entry);
  }
  std::string_view rest = bytes.substr(uuid_bytes, bytes.size() - uuid_bytes - kIdTailBytes);
  while (!rest.empty()) {
    STRAND_TRY(const std::string_view entry, next_text_entry(rest));
    const std::string_view text = IdEntry::text(entry.data());
    f(IdKey{0, 0, hash64(text), text, false}, IdEntry::meta(entry.data()), entry);
  }
  return tail;
}

/// Puts a section together from entries of others.
class IdSectionBuilder {
 public:
  void add(bool uuid, uint64_t meta, std::string_view entry) {
    (uuid ? uuids_ : texts_) += entry;
    latest_ = std::max(latest_, meta >> 15);
  }
  SectionBytes finish();

 private:
  std::string uuids_;
  std::string texts_;
  uint64_t latest_ = 0;
};

}  // namespace strand::state
