#include "state/key_table.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/check.h"
#include "state/id_key.h"

namespace strand::state {

namespace {

constexpr size_t kFirstSlots = 512;                    // a page
constexpr size_t kKeptSlots = size_t{1} << 20;         // slots kept after a clear
constexpr size_t kPrefetchFrom = (size_t{128} << 10);  // bytes of slots from which memory is fetched ahead
constexpr uint32_t kNullLength = 0xFFFFFFFF;
constexpr size_t kAhead = 16;  // rows from a row to that whose memory is fetched
constexpr uint64_t kLengthMask = (uint64_t{1} << 56) - 1;

uint64_t slot_of(uint64_t hash, uint32_t ref) { return (hash & 0xFFFFFFFF00000000ull) | (uint64_t{ref} + 1); }

}  // namespace

KeyTable::KeyTable(StatePages& memory, size_t payload_bytes)
    : memory_(&memory),
      table_(memory.next_table()),
      stride_(kKeyBytes + payload_bytes),
      per_page_(static_cast<uint32_t>(StatePages::kPageBytes / stride_)),
      long_keys_(memory) {
  STRAND_CHECK(payload_bytes % 8 == 0 && payload_bytes >= 8 && per_page_ > 0);
}

void KeyTable::find_or_add(std::span<const uint64_t> hashes, std::span<const std::string_view> keys,
                           std::span<char*> payloads) {
  const size_t n = keys.size();
  const bool ahead = slots_.size() * sizeof(uint64_t) >= kPrefetchFrom;
  for (size_t i = 0; ahead && i < std::min(n, 2 * kAhead); ++i) {
    __builtin_prefetch(slots_.at(hashes[i] & mask_));
  }
  for (size_t i = 0; i < n; ++i) {
    if (ahead) {
      if (i + 2 * kAhead < n) __builtin_prefetch(slots_.at(hashes[i + 2 * kAhead] & mask_));
      if (i + kAhead < n) {
        const uint64_t slot = slots_[hashes[i + kAhead] & mask_];
        if (slot != 0) __builtin_prefetch(row_at(static_cast<uint32_t>(slot) - 1), 1);
      }
    }
    payloads[i] = find_or_add_one(hashes[i], keys[i]) + kKeyBytes;
  }
}

char* KeyTable::find_or_add_one(uint64_t hash, std::string_view key) {
  const ShortKey short_key = short_key_of(key);
  const Head head{hash, short_key.a, short_key.b};
  if (slots_.empty()) grow();
  for (uint64_t at = hash & mask_;; at = (at + 1) & mask_) {
    const uint64_t slot = slots_[at];
    if (slot == 0) {
      if (static_cast<uint64_t>(rows_ + 1) * 10 > slots_.size() * 7) {
        grow();
        return find_or_add_one(hash, key);
      }
      char* row = add_row(head, key);
      slots_[at] =
          slot_of(hash, static_cast<uint32_t>(((pages_.size() - 1) << kIndexBits) + last_page_rows_ - 1));
      return row;
    }
    if ((slot ^ hash) >> 32 != 0) continue;
    const uint32_t ref = static_cast<uint32_t>(slot) - 1;
    char* row = row_at(ref);
    if (!same(row, head, key)) continue;
    if (memory_->untouched(pages_[ref >> kIndexBits].id)) [[unlikely]]
      memory_->touch_slowly(row, stride_);
    return row;
  }
}

bool KeyTable::same(const char* row, const Head& head, std::string_view key) const {
  Head there;
  std::memcpy(&there, row, sizeof there);
  if (there.b >> 56 != head.b >> 56 || there.hash != head.hash) return false;
  if (head.b >> 56 != 0xFF) return there.a == head.a && there.b == head.b;
  return key_of(row + kKeyBytes) == key;
}

char* KeyTable::add_row(const Head& head, std::string_view key) {
  if (pages_.empty() || last_page_rows_ == per_page_) {
    STRAND_CHECK(pages_.size() < (size_t{1} << (32 - kIndexBits)) - 1);
    char* const page = memory_->take();
    pages_.push_back({page, StatePages::id_of(page)});
    last_page_rows_ = 0;
  }
  char* row = pages_.back().memory + last_page_rows_++ * stride_;
  memory_->touch(row, stride_);
  std::memset(row, 0, stride_);
  Head stored = head;
  if (head.b >> 56 == 0xFF) {
    const char* bytes = long_keys_.store(key);
    stored.a = reinterpret_cast<uint64_t>(bytes);
    stored.b = ShortKey::kLongMark | key.size();
  }
  std::memcpy(row, &stored, sizeof stored);
  ++rows_;
  return row;
}

void KeyTable::reserve(int64_t rows, size_t bytes) {
  const auto most = static_cast<int64_t>(bytes / (sizeof(uint64_t) + sizeof(uint32_t)));
  const auto wanted = static_cast<uint64_t>(rows_ + std::clamp<int64_t>(rows, 0, most)) * 10 / 7 + 1;
  if (wanted > slots_.size()) resize(std::bit_ceil(wanted));
}

void KeyTable::resize(size_t slots) {
  SlotArray(std::max(kFirstSlots, slots)).swap(slots_);
  mask_ = slots_.size() - 1;
  uint32_t ref = 0;
  for_each([&](const char* payload) {
    const uint64_t hash = hash_of(payload);
    uint64_t at = hash & mask_;
    while (slots_[at] != 0) at = (at + 1) & mask_;
    slots_[at] = slot_of(hash, ref++);
    if ((ref & ((1u << kIndexBits) - 1)) == per_page_) ref = ((ref >> kIndexBits) + 1) << kIndexBits;
  });
}

void KeyTable::clear() {
  for (const Page& page : pages_) memory_->give(page.memory);
  pages_.clear();
  table_ = memory_->next_table();
  last_page_rows_ = 0;
  rows_ = 0;
  long_keys_.clear();
  if (slots_.size() > kKeptSlots) SlotArray().swap(slots_);
  slots_.clear();
  mask_ = slots_.empty() ? 0 : slots_.size() - 1;
}

void KeyTable::swap(KeyTable& other) noexcept {
  std::swap(memory_, other.memory_);
  std::swap(table_, other.table_);
  std::swap(stride_, other.stride_);
  std::swap(per_page_, other.per_page_);
  slots_.swap(other.slots_);
  std::swap(mask_, other.mask_);
  pages_.swap(other.pages_);
  std::swap(last_page_rows_, other.last_page_rows_);
  std::swap(rows_, other.rows_);
  long_keys_.swap(other.long_keys_);
}

uint64_t KeyTable::hash_of(const char* payload) {
  uint64_t hash = 0;
  std::memcpy(&hash, payload - kKeyBytes, sizeof hash);
  return hash;
}

std::string_view KeyTable::key_of(const char* payload) {
  Head head;
  std::memcpy(&head, payload - kKeyBytes, sizeof head);
  const uint64_t mark = head.b >> 56;
  if (mark == 0xFE) return {};
  if (mark == 0xFF) return {std::bit_cast<const char*>(head.a), head.b & kLengthMask};
  return {payload - kKeyBytes + 8, mark};
}

void KeyTable::encode_key(uint64_t hash, std::string_view key, ByteWriter& out) {
  out.put(hash);
  out.put(key.data() == nullptr ? kNullLength : static_cast<uint32_t>(key.size()));
  out.put_raw(key.data(), key.size());
}

void KeyTable::encode_key(const FrozenRows& rows, const char* row, ByteWriter& out) {
  Head head;
  std::memcpy(&head, row, sizeof head);
  std::string_view key = key_of(row + kKeyBytes);
  if (head.b >> 56 == 0xFF) key = ByteArena::read(*rows.memory, key);
  encode_key(head.hash, key, out);
}

std::vector<TablePart> KeyTable::parts(const std::shared_ptr<FrozenPages>& frozen) const {
  FrozenRows all{frozen, {}, stride_, per_page_, last_page_rows_};
  for (const Page& page : pages_) all.pages.push_back(page.memory);
  return parts_of(*memory_, table_, all);
}

Result<KeyTable::StoredKey> KeyTable::decode_key(ByteReader& in) {
  StoredKey stored{};
  STRAND_TRY(stored.hash, in.get<uint64_t>());
  STRAND_TRY(const uint32_t length, in.get<uint32_t>());
  if (length != kNullLength) {
    STRAND_TRY(stored.key, in.get_raw(length));
  }
  return stored;
}

}  // namespace strand::state
