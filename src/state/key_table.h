// Keys, and a row of fixed size for each of them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "state/byte_arena.h"
#include "state/frozen_rows.h"
#include "state/slot_array.h"
#include "state/state_pages.h"

namespace strand::state {

/// A map from keys to rows of fixed size, for tables that are filled and dropped whole.
///
/// An open-addressing array of 8-byte slots (32 bits of hash, 32 bits of row) points to rows that lie on
/// pages in the order in which their keys came: key and payload stay where they are, and walking the rows is
/// sequential and does not depend on hashes. Keys up to 15 bytes lie in the row, others in an arena. A slot
/// array is at most 70 % full. Keys are bytes, data() == nullptr is NULL; the hash is the engine's, whose top
/// bits are the key group. A snapshot takes the pages as they are (`freeze`). Belongs to one operator.
class KeyTable {
 public:
  static constexpr size_t kKeyBytes = 24;  // in front of the payload: hash, key

  KeyTable(StatePages& memory, size_t payload_bytes);
  ~KeyTable() { clear(); }
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;

  /// payloads[i] = the row of keys[i], made (zeros) if there was none. Rows stay where they are until
  /// `clear`, and may be written to until the next `freeze`; after it `touch` comes first.
  void find_or_add(std::span<const uint64_t> hashes, std::span<const std::string_view> keys,
                   std::span<char*> payloads);

  void touch(const char* payload) { memory_->touch(payload - kKeyBytes, stride_); }

  int64_t size() const { return rows_; }
  /// Forgets all keys and gives the pages back; the slots are kept for the next use.
  void clear();
  /// Bytes beside the pages.
  size_t own_bytes() const { return slots_.bytes() + long_keys_.big_bytes(); }
  void swap(KeyTable& other) noexcept;

  /// All rows, of pages that have just been frozen, in parts for a snapshot.
  std::vector<TablePart> parts(const std::shared_ptr<FrozenPages>& frozen) const;
  /// Writes the key of a frozen row.
  static void encode_key(const FrozenRows& rows, const char* row, ByteWriter& out);

  static uint64_t hash_of(const char* payload);
  /// Valid while the row lives.
  static std::string_view key_of(const char* payload);

  /// Hash and key as snapshots have them. `decode_key` gives a view of what is read.
  struct StoredKey {
    uint64_t hash;
    std::string_view key;
  };
  static void encode_key(uint64_t hash, std::string_view key, ByteWriter& out);
  static Result<StoredKey> decode_key(ByteReader& in);

  /// Makes room for `rows` more keys, but not for more than `bytes` of a snapshot may hold.
  void reserve(int64_t rows, size_t bytes);
  /// Reads `rows` keys, each with what skip(in) reads; f(in, payload) reads that of those for whose hash
  /// wanted(hash) is true.
  template <class Wanted, class Skip, class F>
  Status decode(ByteReader& in, int64_t rows, Wanted&& wanted, Skip&& skip, F&& f);

  /// Calls f(payload) in the order in which the keys came.
  template <class F>
  void for_each(F&& f) const {
    for (size_t page = 0; page < pages_.size(); ++page) {
      const uint32_t n = page + 1 == pages_.size() ? last_page_rows_ : per_page_;
      for (uint32_t i = 0; i < n; ++i) f(pages_[page].memory + i * stride_ + kKeyBytes);
    }
  }

 private:
  struct Head {
    uint64_t hash;
    uint64_t a;
    uint64_t b;  // last byte: length, or kNullMark, or kLongMark; a long key has its address in `a`, its
                 // length in `b`
  };
  struct Page {
    char* memory;
    uint32_t id;
  };
  static constexpr uint32_t kIndexBits = 10;  // of a row in its page; a row has 32 bytes or more
  char* row_at(uint32_t ref) const {
    return pages_[ref >> kIndexBits].memory + (ref & ((1u << kIndexBits) - 1)) * stride_;
  }
  static constexpr size_t kDecoded = 512;  // rows of a snapshot that are looked up together
  char* find_or_add_one(uint64_t hash, std::string_view key);
  bool same(const char* row, const Head& head, std::string_view key) const;
  char* add_row(const Head& head, std::string_view key);
  void grow() { resize(slots_.size() * 2); }
  void resize(size_t slots);

  StatePages* memory_;
  uint64_t table_;
  size_t stride_;
  uint32_t per_page_;
  SlotArray slots_;  // 0: empty; else the hash's top half, and the row + 1
  uint64_t mask_ = 0;
  std::vector<Page> pages_;
  uint32_t last_page_rows_ = 0;
  int64_t rows_ = 0;
  ByteArena long_keys_;
};

template <class Wanted, class Skip, class F>
Status KeyTable::decode(ByteReader& in, int64_t rows, Wanted&& wanted, Skip&& skip, F&& f) {
  std::array<uint64_t, kDecoded> hashes;
  std::array<std::string_view, kDecoded> keys;
  std::array<char*, kDecoded> payloads;
  std::vector<ByteReader> values;
  for (int64_t row = 0; row < rows;) {
    values.clear();
    for (; row < rows && values.size() < kDecoded; ++row) {
      STRAND_TRY(const StoredKey stored, decode_key(in));
      const ByteReader value = in;
      STRAND_OK(skip(in));
      if (!wanted(stored.hash)) continue;
      hashes[values.size()] = stored.hash;
      keys[values.size()] = stored.key;
      values.push_back(value);
    }
    const size_t n = values.size();
    find_or_add({hashes.data(), n}, {keys.data(), n}, {payloads.data(), n});
    for (size_t i = 0; i < n; ++i) STRAND_OK(f(values[i], payloads[i]));
  }
  return Status();
}

}  // namespace strand::state
