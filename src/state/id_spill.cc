#include "state/id_spill.h"

#include <algorithm>
#include <array>
#include <bit>

#include "state/id_section.h"
#include "state/spill/ordered_key.h"

namespace strand::state {

namespace {

enum class IdKind : uint8_t { kUuid, kText, kNull };

IdKind kind_of(const IdKey& key) {
  if (key.uuid) return IdKind::kUuid;
  return key.text.data() == nullptr ? IdKind::kNull : IdKind::kText;
}

/// Key group, kind, bytes.
void append_spill_key(const IdKey& key, uint16_t group, std::string& out) {
  append_ordered(group, out);
  out += static_cast<char>(kind_of(key));
  if (!key.uuid) {
    out += key.text;
    return;
  }
  std::array<char, 16> bytes;
  std::memcpy(bytes.data(), &key.a, 8);
  std::memcpy(bytes.data() + 8, &key.b, 8);
  out.append(bytes.data(), bytes.size());
}

std::string staged_prefix(uint64_t run) {
  std::string prefix;
  append_ordered(run, prefix);
  return prefix;
}

/// Calls f(offset, key, meta) for the entries of a page.
template <class F>
void for_each_id(const IdPage& page, bool texts, F&& f) {
  for (size_t at = 0; at < page.used;) {
    const char* const entry = page.memory + at;
    if (!texts) {
      f(at, IdEntry::uuid(entry), IdEntry::meta(entry));
      at += IdEntry::kUuidBytes;
      continue;
    }
    const std::string_view text = IdEntry::text(entry);
    f(at, IdKey{0, 0, 0, text, false}, IdEntry::meta(entry));
    at += IdEntry::padded(IdEntry::text_bytes(text));
  }
}

Status add_staged_page(std::string_view key, std::string_view bytes, IdSectionBuilder& section) {
  const bool texts = key[sizeof(uint64_t)] != 0;
  while (!texts && !bytes.empty()) {
    section.add(true, IdEntry::meta(bytes.data()), bytes.substr(0, IdEntry::kUuidBytes));
    bytes.remove_prefix(IdEntry::kUuidBytes);
  }
  while (!bytes.empty()) {
    STRAND_TRY(const std::string_view entry, next_text_entry(bytes));
    section.add(false, IdEntry::meta(entry.data()), entry);
  }
  return Status();
}

}  // namespace

/// An entry of pages that are sorted: the beginning of its key, which mostly decides, and where it lies,
/// which tells of two with the same key the later one.
struct IdSpill::Place {
  uint64_t begin;
  uint32_t page;  // those with texts come behind the others
  uint32_t offset;
};

Status IdSpill::open() {
  if (store_ != nullptr) return Status();
  const auto useless = [lowest = lowest_](std::string_view, std::string_view value) {
    return IdMeta::expired(IdEntry::load<uint64_t>(value.data()), EventTime{*lowest});
  };
  STRAND_TRY(staged_, space_.open({}));
  STRAND_TRY(store_, space_.open({.lookups = true, .useless = useless}));
  return Status();
}

Status IdSpill::find(const IdBatch& batch, std::span<const uint32_t> rows, std::span<uint64_t> metas) {
  key_bytes_.clear();
  key_ends_.clear();
  for (const uint32_t row : rows) {
    append_spill_key(make_id_key(batch.keys[row]), batch.groups[row], key_bytes_);
    key_ends_.push_back(key_bytes_.size());
  }
  return look_up(rows, metas);
}

Status IdSpill::find(std::span<const IdKey> keys, std::span<const uint64_t> theirs,
                     std::span<const uint32_t> rows, std::span<uint64_t> metas) {
  key_bytes_.clear();
  key_ends_.clear();
  for (const uint32_t row : rows) {
    append_spill_key(keys[row], IdMeta::group(theirs[row]), key_bytes_);
    key_ends_.push_back(key_bytes_.size());
  }
  return look_up(rows, metas);
}

Status IdSpill::look_up(std::span<const uint32_t> rows, std::span<uint64_t> metas) {
  keys_.clear();
  size_t from = 0;
  for (const size_t end : key_ends_) {
    keys_.emplace_back(key_bytes_.data() + from, end - from);
    from = end;
  }
  return store_->get(keys_, [&](size_t i, std::string_view value) {
    metas[rows[i]] = IdEntry::load<uint64_t>(value.data());
  });
}

Status IdSpill::put(const IdPages& pages, EventTime lowest, bool staged) {
  STRAND_OK(open());
  forget(lowest);
  Run run{next_run_++, 0, 0, EventTime::min(), staged};
  if (staged) STRAND_OK(stage(pages, run.number));
  STRAND_OK(put_sorted(pages, lowest, run));
  runs_.push_back(run);
  return Status();
}

Status IdSpill::put_sorted(const IdPages& pages, EventTime lowest, Run& run) {
  const auto page_at = [&](uint32_t i) -> const IdPage& {
    return i < pages.uuids.size() ? *pages.uuids[i] : *pages.texts[i - pages.uuids.size()];
  };
  const auto key_at = [&](const Place& place) {
    const char* const entry = page_at(place.page).memory + place.offset;
    return place.page < pages.uuids.size() ? IdEntry::uuid(entry)
                                           : IdKey{0, 0, 0, IdEntry::text(entry), false};
  };
  const auto meta_at = [&](const Place& place) {
    return IdEntry::meta(page_at(place.page).memory + place.offset);
  };
  std::vector<Place> places;
  std::string key;
  uint64_t latest = 0;
  const auto all = static_cast<uint32_t>(pages.uuids.size() + pages.texts.size());
  for (uint32_t page = 0; page < all; ++page) {
    const bool texts = page >= pages.uuids.size();
    for_each_id(page_at(page), texts, [&](size_t offset, const IdKey& id, uint64_t meta) {
      if (IdMeta::expired(meta, lowest)) return;
      key.clear();
      append_spill_key(id, IdMeta::group(meta), key);
      key.resize(std::max(key.size(), sizeof(uint64_t)), '\0');
      places.push_back(
          {__builtin_bswap64(IdEntry::load<uint64_t>(key.data())), page, static_cast<uint32_t>(offset)});
      latest = std::max(latest, meta >> 15);
    });
    run.bytes += page_at(page).used;
  }
  std::string other;
  const auto compare = [&](const Place& a, const Place& b) {
    key.clear();
    other.clear();
    append_spill_key(key_at(a), IdMeta::group(meta_at(a)), key);
    append_spill_key(key_at(b), IdMeta::group(meta_at(b)), other);
    return key.compare(other);
  };
  std::ranges::sort(places, [&](const Place& a, const Place& b) {
    if (a.begin != b.begin) return a.begin < b.begin;
    const int order = compare(a, b);
    if (order != 0) return order < 0;
    return std::pair(a.page, a.offset) < std::pair(b.page, b.offset);
  });
  run.ids = static_cast<int64_t>(places.size());
  run.latest = places.empty() ? EventTime::min() : IdMeta::expiry(latest << 15);
  size_t at = 0;
  uint64_t meta = 0;
  return store_->put([&](std::string_view& next_key, std::string_view& value) {
    while (at + 1 < places.size() && places[at].begin == places[at + 1].begin &&
           compare(places[at], places[at + 1]) == 0)
      ++at;
    if (at == places.size()) return false;
    meta = meta_at(places[at]);
    key.clear();
    append_spill_key(key_at(places[at]), IdMeta::group(meta), key);
    ++at;
    next_key = key;
    value = {reinterpret_cast<const char*>(&meta), sizeof meta};
    return true;
  });
}

Status IdSpill::stage(const IdPages& pages, uint64_t run) {
  const std::string prefix = staged_prefix(run);
  std::string key;
  uint32_t at = 0;
  return staged_->put([&](std::string_view& next_key, std::string_view& value) {
    if (at == pages.uuids.size() + pages.texts.size()) return false;
    const bool texts = at >= pages.uuids.size();
    const IdPage& page = texts ? *pages.texts[at - pages.uuids.size()] : *pages.uuids[at];
    key = prefix;
    key += static_cast<char>(texts ? 1 : 0);
    append_ordered(at, key);
    ++at;
    next_key = key;
    value = {page.memory, page.used};
    return true;
  });
}

void IdSpill::forget(EventTime lowest) {
  *lowest_ = lowest.millis;
  std::erase_if(runs_, [&](const Run& run) {
    return !run.staged &&
           (run.latest == EventTime::min() || IdMeta::expired(IdMeta::pack(run.latest, 0), lowest));
  });
}

uint64_t IdSpill::add_staged(SnapshotBuilder& out, const std::string& name, EventTime& latest) const {
  std::vector<std::pair<uint64_t, std::shared_ptr<const bool>>> together;
  uint64_t bytes = 0;
  const auto flush = [&] {
    if (together.empty()) return;
    const auto make = [store = staged_, runs = std::exchange(together, {})]() -> Result<SectionBytes> {
      IdSectionBuilder section;
      for (const auto& [run, pin] : runs) {
        STRAND_OK(store->scan(staged_prefix(run), [&](std::string_view key, std::string_view page) {
          return add_staged_page(key, page, section);
        }));
      }
      return section.finish();
    };
    out.add_own_file(name, kIdSectionVersion, make);
    bytes = 0;
  };
  for (const Run& run : runs_) {
    if (!run.staged || run.durable) continue;
    if (bytes + run.bytes > space_.section_bytes()) flush();
    together.emplace_back(run.number, run.pin);
    bytes += run.bytes;
    latest = std::max(latest, run.latest);
  }
  flush();
  return next_run_;
}

Status IdSpill::drop_staged(uint64_t before) {
  for (Run& run : runs_) {
    if (run.staged && run.number < before) run.durable = true;
    if (!run.durable || !run.staged || run.pin.use_count() > 1) continue;
    STRAND_OK(staged_->drop(staged_prefix(run.number)));
    run.staged = false;
  }
  return Status();
}

int64_t IdSpill::ids() const {
  int64_t n = 0;
  for (const Run& run : runs_) n += run.ids;
  return n;
}

uint64_t IdSpill::entry_bytes() const {
  uint64_t n = 0;
  for (const Run& run : runs_) n += run.bytes;
  return n;
}

}  // namespace strand::state
