#include "state/id_log.h"

#include <algorithm>

namespace strand::state {

namespace {
constexpr size_t kHeadBytes = 10;
constexpr size_t kLongHeadBytes = 14;
}  // namespace

std::string_view IdEntry::text(const char* entry) {
  const auto length = load<uint16_t>(entry + 8);
  if (length == kNullLength) return {};
  if (length != kLongLength) return {entry + kHeadBytes, length};
  return {entry + kLongHeadBytes, load<uint32_t>(entry + kHeadBytes)};
}

size_t IdEntry::text_bytes(std::string_view text) {
  return (text.size() < kLongLength ? kHeadBytes : kLongHeadBytes) + text.size();
}

void IdEntry::write_text(char* to, std::string_view text, uint64_t meta) {
  const bool is_long = text.size() >= kLongLength;
  const uint16_t length = text.data() == nullptr ? kNullLength
                          : is_long              ? kLongLength
                                                 : static_cast<uint16_t>(text.size());
  const auto size = static_cast<uint32_t>(text.size());
  const size_t bytes = text_bytes(text);
  std::memset(to + bytes, 0, padded(bytes) - bytes);
  std::memcpy(to, &meta, sizeof meta);
  std::memcpy(to + 8, &length, sizeof length);
  if (is_long) std::memcpy(to + kHeadBytes, &size, sizeof size);
  if (!text.empty()) std::memcpy(to + bytes - text.size(), text.data(), text.size());
}

uint32_t IdLog::append_text(std::string_view text, uint64_t meta) {
  const IdChain::Place place = texts_.append(IdEntry::padded(IdEntry::text_bytes(text)), meta);
  IdEntry::write_text(place.memory, text, meta);
  return place.ref | kTextBit;
}

void IdLog::extend(uint32_t ref, uint64_t meta) {
  std::memcpy(at(ref), &meta, sizeof meta);
  IdPage& page = (ref & kTextBit) == 0 ? uuids_.page_of(ref) : texts_.page_of(ref & ~kTextBit);
  page.latest = std::max(page.latest, meta >> 15);
}

IdPages IdLog::oldest(double part) const {
  IdPages pages;
  for (const uint32_t id : uuids_.oldest(part)) pages.uuids.push_back(uuids_.page(id));
  for (const uint32_t id : texts_.oldest(part)) pages.texts.push_back(texts_.page(id));
  return pages;
}

void IdLog::drop(const IdPages& pages) {
  const auto drop_from = [](IdChain& chain, const std::vector<std::shared_ptr<const IdPage>>& gone) {
    if (gone.empty()) return;
    const uint64_t last = gone.back()->number;
    chain.drop_if([&](uint32_t id) { return chain.page(id)->number <= last; });
  };
  drop_from(uuids_, pages.uuids);
  drop_from(texts_, pages.texts);
}

bool IdLog::before(const IdPages& pages, const IdMark& mark) {
  const auto in = [](const std::vector<std::shared_ptr<const IdPage>>& chain, uint64_t number,
                     size_t offset) {
    if (chain.empty()) return true;
    const IdPage& last = *chain.back();
    return last.number < number || (last.number == number && last.used <= offset);
  };
  return in(pages.uuids, mark.uuid_page, mark.uuid_offset) &&
         in(pages.texts, mark.text_page, mark.text_offset);
}

IdMark IdLog::end() const {
  return {appended_, uuids_.end_number(), texts_.end_number(), uuids_.end_offset(), texts_.end_offset()};
}

uint64_t IdLog::entry_bytes() const {
  uint64_t bytes = 0;
  for (const IdChain* chain : {&uuids_, &texts_}) {
    for (const uint32_t id : chain->order()) bytes += chain->page(id)->used;
  }
  return bytes;
}

IdPart IdLog::since(const IdMark& mark) const {
  IdPart part;
  uint64_t latest = 0;
  const auto collect = [&](const IdChain& chain, uint64_t number, size_t offset,
                           std::vector<std::string_view>& out) {
    std::vector<std::string_view> whole;
    std::vector<std::string_view> rest;
    for (auto id = chain.order().rbegin(); id != chain.order().rend(); ++id) {
      const std::shared_ptr<IdPage>& page = chain.page(*id);
      if (page->number < number) break;
      const size_t from = page->number == number ? offset : 0;
      if (page->used == from) continue;
      const bool full = from == 0 && page->used == IdPagePool::kPageBytes;
      (full ? whole : rest).emplace_back(page->memory + from, page->used - from);
      part.owners.push_back(page);
      latest = std::max(latest, page->latest);
    }
    out = std::move(whole);
    out.insert(out.end(), rest.begin(), rest.end());
  };
  collect(uuids_, mark.uuid_page, mark.uuid_offset, part.uuids);
  collect(texts_, mark.text_page, mark.text_offset, part.texts);
  if (!part.empty()) part.latest = IdMeta::expiry(latest << 15);
  return part;
}

}  // namespace strand::state
