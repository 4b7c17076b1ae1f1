#include "state/id_table.h"

#include <algorithm>
#include <array>

namespace strand::state {

namespace {
constexpr size_t kPrefetch = 64;         // rows whose memory is fetched together
constexpr size_t kAppendedAgainMax = 4;  // pages at once
constexpr size_t kRowsPerCleaned = 512;  // rows after which a segment is cleaned, while that goes on
constexpr size_t kDroppedMin = 64;       // ids of dropped pages that may wait
constexpr uint32_t hash_of(const IdKey& key) { return static_cast<uint32_t>(key.hash >> 32); }
}  // namespace

void IdTable::insert(const IdBatch& batch, const IdJudge& judge, std::span<uint8_t> fresh,
                     std::span<const uint64_t> cold) {
  forget(judge.lowest);
  if (cleaning_) clean_some(batch.keys.size() / kRowsPerCleaned + 1);
  std::array<IdKey, kPrefetch> keys;
  for (size_t from = 0; from < batch.keys.size(); from += kPrefetch) {
    const size_t n = std::min(kPrefetch, batch.keys.size() - from);
    for (size_t i = 0; i < n; ++i) {
      keys[i] = make_id_key(batch.keys[from + i]);
      __builtin_prefetch(index_.home(hash_of(keys[i])), 1);
    }
    for (size_t i = 0; i < n; ++i) __builtin_prefetch(probable_entry(keys[i]), 0);
    for (size_t i = 0; i < n; ++i) {
      const uint16_t group = batch.groups[from + i];
      const uint64_t meta = IdMeta::pack(batch.expiries[from + i], group);
      const uint64_t known = cold.empty() ? 0 : cold[from + i];
      fresh[from + i] = put(keys[i], meta, judge.of(group), known) ? 1 : 0;
    }
  }
}

void IdTable::missing(const IdBatch& batch, std::vector<uint32_t>& rows) const {
  rows.clear();
  std::array<IdKey, kPrefetch> keys;
  std::vector<uint32_t> some;
  for (size_t from = 0; from < batch.keys.size(); from += kPrefetch) {
    const size_t n = std::min(kPrefetch, batch.keys.size() - from);
    for (size_t i = 0; i < n; ++i) keys[i] = make_id_key(batch.keys[from + i]);
    missing(std::span(keys).first(n), some);
    for (const uint32_t i : some) rows.push_back(static_cast<uint32_t>(from) + i);
  }
}

void IdTable::missing(std::span<const IdKey> keys, std::vector<uint32_t>& rows) const {
  rows.clear();
  for (const IdKey& key : keys) __builtin_prefetch(index_.home(hash_of(key)), 0);
  for (const IdKey& key : keys) __builtin_prefetch(probable_entry(key), 0);
  for (size_t i = 0; i < keys.size(); ++i) {
    if (!has(keys[i])) rows.push_back(static_cast<uint32_t>(i));
  }
}

bool IdTable::has(const IdKey& key) const {
  return index_.find(hash_of(key), [&](uint32_t ref) { return log_.has(ref, log_.at(ref), key); }) != nullptr;
}

void IdTable::restore(std::span<const IdKey> keys, std::span<const uint64_t> metas,
                      std::span<const uint64_t> cold) {
  for (const IdKey& key : keys) __builtin_prefetch(index_.home(hash_of(key)), 1);
  for (const IdKey& key : keys) __builtin_prefetch(probable_entry(key), 0);
  for (size_t i = 0; i < keys.size(); ++i) put_back(keys[i], metas[i], cold.empty() ? 0 : cold[i]);
}

/// The entry of a key that is probably there, or nullptr. The caller fetches: a function that only prefetches
/// counts as one without effect, and compilers leave out calls of it.
const char* IdTable::probable_entry(const IdKey& key) const {
  const uint32_t ref = index_.probable(hash_of(key));
  return ref == IdIndex::kNone ? nullptr : log_.at(ref);
}

bool IdTable::put(const IdKey& key, uint64_t meta, EventTime judge, uint64_t cold) {
  const uint32_t hash = hash_of(key);
  char* entry = nullptr;
  uint64_t* const slot = index_.find(hash, [&](uint32_t ref) {
    entry = log_.at(ref);
    return log_.has(ref, entry, key);
  });
  if (slot == nullptr) {
    if (cold != 0 && !IdMeta::expired(cold, judge)) return false;
    const uint32_t ref = log_.append(key, meta);
    index_.add(hash, ref, [this](uint32_t other) { return log_.at(other) != nullptr; });
    return true;
  }
  if (IdMeta::expired(IdEntry::meta(entry), judge)) {
    IdIndex::point(slot, log_.append(key, meta));
    return true;
  }
  return false;
}

void IdTable::put_back(const IdKey& key, uint64_t meta, uint64_t cold) {
  const uint32_t hash = hash_of(key);
  char* entry = nullptr;
  uint64_t* const slot = index_.find(hash, [&](uint32_t ref) {
    entry = log_.at(ref);
    return log_.has(ref, entry, key);
  });
  if (slot == nullptr) {
    if (cold != 0 && (cold >> 15) >= (meta >> 15)) return;
    const uint32_t ref = log_.append(key, meta);
    index_.add(hash, ref, [this](uint32_t other) { return log_.at(other) != nullptr; });
  } else if ((meta >> 15) > (IdEntry::meta(entry) >> 15)) {
    log_.extend(static_cast<uint32_t>(*slot), meta);
  }
}

void IdTable::forget(EventTime lowest) {
  if (log_.uuids().take_grown()) forget(log_.uuids(), lowest, /*texts=*/false);
  if (log_.texts().take_grown()) forget(log_.texts(), lowest, /*texts=*/true);
  const size_t dropped = log_.uuids().dropped() + log_.texts().dropped();
  const size_t pages = log_.uuids().order().size() + log_.texts().order().size();
  if (cleaning_ || dropped < kDroppedMin + pages) return;
  cleaning_ = true;
  cleaned_ = 0;
  dropped_uuids_ = log_.uuids().dropped();
  dropped_texts_ = log_.texts().dropped();
}

void IdTable::forget(IdChain& chain, EventTime lowest, bool texts) {
  const auto passed = [&](uint64_t expiry) { return IdMeta::expired(expiry << 15, lowest); };
  chain.drop_if([&](uint32_t id) { return passed(chain.page(id)->latest); });
  std::vector<uint32_t> mostly;
  for (const uint32_t id : chain.order()) {
    if (passed(chain.page(id)->mostly)) mostly.push_back(id);
  }
  const size_t allowed = chain.order().size() / 4 + 2;
  if (mostly.size() <= allowed) return;
  mostly.resize(std::min(mostly.size() - allowed, kAppendedAgainMax));
  for (const uint32_t id : mostly) append_again(chain, id, lowest, texts);
  chain.drop_if([&](uint32_t id) { return std::ranges::find(mostly, id) != mostly.end(); });
}

/// Moves the keys of a page that have not expired to the end of the log, which may move its list of pages.
void IdTable::append_again(const IdChain& chain, uint32_t id, EventTime lowest, bool texts) {
  const std::shared_ptr<IdPage> page = chain.page(id);  // NOLINT(performance-unnecessary-copy-initialization)
  const uint32_t first = chain.first_ref(id);
  for (size_t at = 0; at < page->used;) {
    const char* const entry = page->memory + at;
    const uint64_t meta = IdEntry::meta(entry);
    if (!texts) {
      const auto ref = static_cast<uint32_t>(first + at / IdEntry::kUuidBytes);
      if (!IdMeta::expired(meta, lowest)) keep(IdEntry::uuid(entry), meta, ref);
      at += IdEntry::kUuidBytes;
      continue;
    }
    const std::string_view text = IdEntry::text(entry);
    const auto ref = static_cast<uint32_t>(first + at / IdEntry::kTextUnit) | IdLog::kTextBit;
    if (!IdMeta::expired(meta, lowest)) keep({0, 0, hash64(text), text, false}, meta, ref);
    at += IdEntry::padded(IdEntry::text_bytes(text));
  }
}

/// An entry to which the index does not refer has been replaced by a later one.
void IdTable::keep(const IdKey& key, uint64_t meta, uint32_t ref) {
  uint64_t* const slot = index_.find(hash_of(key), [&](uint32_t other) { return other == ref; });
  if (slot != nullptr) IdIndex::point(slot, log_.append(key, meta));
}

void IdTable::clean_some(size_t segments) {
  const size_t end = std::min(cleaned_ + segments, index_.segments());
  for (; cleaned_ < end; ++cleaned_)
    index_.clean(cleaned_, [this](uint32_t ref) { return log_.at(ref) != nullptr; });
  if (cleaned_ < index_.segments()) return;
  cleaning_ = false;
  log_.uuids().forget_dropped(dropped_uuids_);
  log_.texts().forget_dropped(dropped_texts_);
}

}  // namespace strand::state
