// The keys of an id table in the order in which they came: its memory, and what an incremental snapshot
// consists of.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "state/id_key.h"
#include "state/id_pages.h"
#include "state/snapshot.h"

namespace strand::state {

/// Entries lie on pages in the form in which files hold them:
///   UUID   meta (u64), 16 bytes
///   other  meta (u64), length (u16; kNullLength, or kLongLength and a u32), bytes, zeros up to a multiple of
///   4
/// Each kind has pages of its own. Belongs to one table.
struct IdEntry {
  static constexpr size_t kUuidBytes = 24;
  static constexpr size_t kTextUnit = 4;
  static constexpr uint16_t kNullLength = 0xFFFF;
  static constexpr uint16_t kLongLength = 0xFFFE;

  static uint64_t meta(const char* entry) { return load<uint64_t>(entry); }
  static IdKey uuid(const char* entry) {
    return make_uuid_key(load<uint64_t>(entry + 8), load<uint64_t>(entry + 16));
  }
  static bool is_uuid(const char* entry, const IdKey& key) {
    return load<uint64_t>(entry + 8) == key.a && load<uint64_t>(entry + 16) == key.b;
  }
  /// Of an entry that is not a UUID; data() == nullptr is NULL.
  static std::string_view text(const char* entry);
  static size_t text_bytes(std::string_view text);
  static size_t padded(size_t bytes) { return (bytes + kTextUnit - 1) / kTextUnit * kTextUnit; }
  static void write_text(char* to, std::string_view text, uint64_t meta);

  template <class T>
  static T load(const char* p) {
    T value;
    std::memcpy(&value, p, sizeof value);
    return value;
  }
};

/// A place in a log: what was appended before it, and what after.
struct IdMark {
  uint64_t appended = 0;
  uint64_t uuid_page = 0;
  uint64_t text_page = 0;
  size_t uuid_offset = 0;
  size_t text_offset = 0;
};

/// What was appended since a mark, without copying it.
struct IdPart {
  std::vector<std::shared_ptr<const IdPage>> owners;
  std::vector<std::string_view> uuids;  // whole pages first: files take them without a copy
  std::vector<std::string_view> texts;
  EventTime latest = EventTime::min();  // of the expiries, or later
  bool empty() const { return owners.empty(); }
};

/// Pages of a log, oldest first.
struct IdPages {
  std::vector<std::shared_ptr<const IdPage>> uuids;
  std::vector<std::shared_ptr<const IdPage>> texts;
  bool empty() const { return uuids.empty() && texts.empty(); }
};

class IdLog {
 public:
  static constexpr uint32_t kTextBit = uint32_t{1} << 31;
  static constexpr uint32_t kUuidPlaceBits = 13;
  static constexpr uint32_t kTextPlaceBits = 16;
  static_assert(IdPagePool::kPageBytes / IdEntry::kUuidBytes <= 1u << kUuidPlaceBits);
  static_assert(IdPagePool::kPageBytes / IdEntry::kTextUnit <= 1u << kTextPlaceBits);

  /// Returns a reference that stays until the page is dropped.
  uint32_t append(const IdKey& key, uint64_t meta) {
    ++appended_;
    if (!key.uuid) return append_text(key.text, meta);
    const IdChain::Place place = uuids_.append(IdEntry::kUuidBytes, meta);
    std::memcpy(place.memory, &meta, 8);
    std::memcpy(place.memory + 8, &key.a, 8);
    std::memcpy(place.memory + 16, &key.b, 8);
    return place.ref;
  }
  /// nullptr if the page has been dropped.
  char* at(uint32_t ref) const { return (ref & kTextBit) == 0 ? uuids_.at(ref) : texts_.at(ref & ~kTextBit); }
  /// Whether the entry is there and has this key.
  bool has(uint32_t ref, const char* entry, const IdKey& key) const {
    if (entry == nullptr || key.uuid != ((ref & kTextBit) == 0)) return false;
    if (key.uuid) return IdEntry::is_uuid(entry, key);
    const std::string_view text = IdEntry::text(entry);
    return text == key.text && (text.data() == nullptr) == (key.text.data() == nullptr);
  }
  /// A later expiry. Only before a snapshot refers to the entry.
  void extend(uint32_t ref, uint64_t meta);

  /// The oldest pages that are not being filled, `part` of them.
  IdPages oldest(double part) const;
  void drop(const IdPages& pages);
  /// Whether a mark stands behind all that the pages hold.
  static bool before(const IdPages& pages, const IdMark& mark);
  /// Pages that are being filled take nothing more.
  void close() {
    uuids_.close();
    texts_.close();
  }
  bool any_pages() const { return !uuids_.order().empty() || !texts_.order().empty(); }
  /// Of the pages that are there.
  int64_t page_bytes() const { return static_cast<int64_t>(uuids_.page_bytes() + texts_.page_bytes()); }

  IdMark end() const;
  IdPart since(const IdMark& mark) const;

  /// On the pages that are there.
  int64_t entries() const { return static_cast<int64_t>(uuids_.entries() + texts_.entries()); }
  /// Of the pages that are there, whole.
  uint64_t entry_bytes() const;

  IdChain& uuids() { return uuids_; }
  IdChain& texts() { return texts_; }
  int64_t bytes() const {
    return static_cast<int64_t>(pool_->bytes() + uuids_.own_bytes() + texts_.own_bytes());
  }

 private:
  uint32_t append_text(std::string_view text, uint64_t meta);

  std::shared_ptr<IdPagePool> pool_ = std::make_shared<IdPagePool>();
  IdChain uuids_{pool_, kUuidPlaceBits, IdEntry::kUuidBytes};
  IdChain texts_{pool_, kTextPlaceBits, IdEntry::kTextUnit};
  uint64_t appended_ = 0;
};

}  // namespace strand::state
