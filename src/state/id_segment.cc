#include "state/id_segment.h"

#include <cstring>

#include "base/check.h"

namespace strand::state {

namespace {
// A long key's second word: mark (8 bits), then either
//   length of the rest (19 bits), page (22 bits), offset (15 bits), or
//   kBig, and the index of a text with memory of its own, whose length stands in front of it.
constexpr uint64_t kBig = uint64_t{1} << 55;
constexpr size_t kPagedMax = size_t{4} << 10;
}  // namespace

IdSegment::IdSegment(PagePool& pool, uint32_t pages, double crowded_at)
    : pool_(pool),
      blocks_(uint64_t{pages} * kBlocksPerPage),
      limit_(static_cast<uint32_t>(crowded_at * pages * kSlotsPerPage)) {
  for (uint32_t i = 0; i < pages; ++i) {
    char* page = pool_.take();
    for (uint32_t block = 0; block < kBlocksPerPage; ++block)
      std::memset(page + block * sizeof(Block), 0, 16);
    pages_.push_back(page);
  }
}

IdSegment::~IdSegment() {
  for (char* page : pages_) pool_.give(page);
  for (char* page : text_pages_) pool_.give(page);
}

bool IdSegment::put(const IdKey& key, uint64_t meta, EventTime judge, bool extend) {
  const uint8_t wanted = tag(key);
  uint32_t at = position(key.hash);
  while (true) {
    Block& block = block_at(at);
    for (uint32_t same = match(block, wanted); same != 0; same &= same - 1) {
      Slot& slot = block.slots[std::countr_zero(same)];
      if (!equals(slot, key)) continue;
      const bool fresh = IdMeta::expired(slot.meta, judge);
      if (fresh || (extend && (meta >> 15) > (slot.meta >> 15))) slot.meta = meta;
      return fresh;
    }
    if (block.passed == 0) break;
    at = after(at);
  }
  add(key, meta);
  return true;
}

void IdSegment::add(const IdKey& key, uint64_t meta) {
  uint32_t at = position(key.hash);
  while (true) {
    Block& block = block_at(at);
    if (const uint32_t empty = match(block, 0); empty != 0) {
      fill(block, static_cast<uint32_t>(std::countr_zero(empty)), key, meta);
      ++used_;
      return;
    }
    block.passed = 1;
    at = after(at);
  }
}

uint32_t IdSegment::live(EventTime judge) const {
  uint32_t n = 0;
  for (uint32_t i = 0; i < blocks_; ++i) {
    const Block& block = block_at(i);
    for (uint32_t s = 0; s < kSlots; ++s)
      n += block.tags[s] != 0 && !IdMeta::expired(block.slots[s].meta, judge) ? 1 : 0;
  }
  return n;
}

void IdSegment::purge(EventTime judge) {
  for (uint32_t i = 0; i < blocks_; ++i) {
    Block& block = block_at(i);
    block.was_passed = block.passed;
    block.passed = 0;
    for (uint32_t s = 0; s < kSlots; ++s) {
      if (block.tags[s] == 0 || !IdMeta::expired(block.slots[s].meta, judge)) continue;
      block.tags[s] = 0;
      --used_;
    }
  }
  for (uint32_t i = 0; i < blocks_; ++i) {
    if (block_at(i == 0 ? static_cast<uint32_t>(blocks_) - 1 : i - 1).was_passed == 0) continue;
    for (uint32_t s = 0; s < kSlots; ++s) {
      if (block_at(i).tags[s] != 0) move_nearer(i, s);
    }
  }
}

/// Moves a key to the first block from its own on that has room, and marks the blocks that it passes.
void IdSegment::move_nearer(uint32_t from, uint32_t s) {
  Block& old = block_at(from);
  for (uint32_t at = position(hash_id(old.slots[s].a, old.slots[s].b)); at != from; at = after(at)) {
    Block& block = block_at(at);
    if (const uint32_t empty = match(block, 0); empty != 0) {
      const auto to = static_cast<uint32_t>(std::countr_zero(empty));
      block.tags[to] = old.tags[s];
      block.slots[to] = old.slots[s];
      old.tags[s] = 0;
      return;
    }
    block.passed = 1;
  }
}

bool IdSegment::equals(const Slot& slot, const IdKey& key) const {
  if (slot.a != key.a) return false;
  if (!key.is_long()) return slot.b == key.b;
  if ((slot.b >> 56) != 0xFF) return false;
  return rest_of(slot) == key.text.substr(8);
}

void IdSegment::fill(Block& block, uint32_t s, const IdKey& key, uint64_t meta) {
  block.tags[s] = tag(key);
  block.slots[s] = {key.a, key.is_long() ? store_rest(key.text.substr(8)) : key.b, meta};
}

IdKey IdSegment::key_of(const Block& block, uint32_t s) const {
  const Slot& slot = block.slots[s];
  IdKey key;
  key.a = slot.a;
  key.b = slot.b;
  key.uuid = (block.tags[s] & 0x40) != 0;
  if (!key.is_long()) {
    key.hash = hash_id(slot.a, slot.b);
    return key;
  }
  scratch_.assign(reinterpret_cast<const char*>(&slot.a), 8);
  scratch_ += rest_of(slot);
  key.b = IdKey::kLongMark;
  key.text = scratch_;
  key.hash = hash64(scratch_);
  return key;
}

std::string_view IdSegment::rest_of(const Slot& slot) const {
  if ((slot.b & kBig) != 0) {
    const char* big = big_texts_[slot.b & 0xFFFFFFFFull].get();
    uint64_t size = 0;
    std::memcpy(&size, big, sizeof size);
    return {big + sizeof size, size};
  }
  return {text_pages_[(slot.b >> 15) & 0x3FFFFF] + (slot.b & 0x7FFF), (slot.b >> 37) & 0x3FFFF};
}

uint64_t IdSegment::store_rest(std::string_view text) {
  if (text.size() > kPagedMax) {
    const uint64_t size = text.size();
    auto memory = std::make_unique<char[]>(sizeof size + text.size());
    std::memcpy(memory.get(), &size, sizeof size);
    std::memcpy(memory.get() + sizeof size, text.data(), text.size());
    big_text_bytes_ += sizeof size + text.size();
    big_texts_.push_back(std::move(memory));
    return IdKey::kLongMark | kBig | (big_texts_.size() - 1);
  }
  if (text_used_ + text.size() > PagePool::kPageBytes) {
    text_pages_.push_back(pool_.take());
    text_used_ = 0;
  }
  STRAND_CHECK(text_pages_.size() <= 0x3FFFFF);
  const uint64_t where = ((text_pages_.size() - 1) << 15) | text_used_;
  std::memcpy(text_pages_.back() + text_used_, text.data(), text.size());
  text_used_ += text.size();
  return IdKey::kLongMark | (uint64_t{text.size()} << 37) | where;
}

}  // namespace strand::state
