#include "state/state_pages.h"

#include <new>

namespace strand::state {

static_assert(FrozenPages::kBlocks == 8, "a bit a block");

char* StatePages::take() {
  ++handed_out_;
  end_readings();
  if (free_.empty()) {
    char* const base = pool_->take();
    new (base) PageHead{static_cast<uint32_t>(untouched_.size())};
    untouched_.push_back(0);
    changed_.push_back(freezes_);
    return base + kHeadBytes;
  }
  char* const page = free_.back();
  free_.pop_back();
  const uint32_t id = id_of(page);
  untouched_[id] = 0;
  changed_[id] = freezes_;
  return page;
}

void StatePages::give(char* page) {
  --handed_out_;
  end_readings();
  const bool read = !readings_.empty() && untouched(id_of(page));
  (read ? readings_.back().pages : free_).push_back(page);
}

void StatePages::retire(std::unique_ptr<char[]> bytes) {
  end_readings();
  if (!readings_.empty()) readings_.back().bytes.push_back(std::move(bytes));
}

void StatePages::touch_slowly(const char* at, size_t size) {
  end_readings();
  const uint32_t page = id_of(at);
  changed_[page] = freezes_;
  if (readings_.empty()) {
    untouched_[page] = 0;
    return;
  }
  const char* const base = base_of(at);
  const auto from = static_cast<size_t>(at - base);
  for (size_t block = from / FrozenPages::kBlockBytes; block * FrozenPages::kBlockBytes < from + size;
       ++block) {
    const auto bit = static_cast<uint8_t>(1u << block);
    if ((untouched_[page] & bit) == 0) continue;
    for (const Reading& reading : readings_) reading.frozen->keep(page, block, base);
    untouched_[page] = static_cast<uint8_t>(untouched_[page] & ~bit);
  }
}

std::shared_ptr<FrozenPages> StatePages::freeze() {
  end_readings();
  ++freezes_;
  std::fill(untouched_.begin(), untouched_.end(), uint8_t{0xFF});
  auto frozen = std::make_shared<FrozenPages>(pool_, untouched_.size());
  readings_.push_back({frozen});
  FrozenPages* const pages = frozen.get();
  return {pages, [frozen = std::move(frozen)](FrozenPages*) { frozen->close(); }};
}

/// What an older reading needs, a later one may need, too: they end in their order.
void StatePages::end_readings() {
  while (!readings_.empty() && readings_.front().frozen->closed()) {
    Reading& over = readings_.front();
    free_.insert(free_.end(), over.pages.begin(), over.pages.end());
    for (char* copy : over.frozen->copies()) pool_->give(copy);
    readings_.pop_front();
  }
}

}  // namespace strand::state
