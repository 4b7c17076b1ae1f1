#include "state/page_pool.h"

#include "env/pages.h"

namespace strand::state {

namespace {
constexpr size_t kSlabBytes = size_t{2} << 20;
constexpr size_t kSlabsFrom = size_t{1} << 20;  // pool size from which slabs are taken
}  // namespace

PagePool::~PagePool() {
  for (const Slab& slab : slabs_) env::free_pages(slab.memory, slab.size);
}

char* PagePool::take() {
  if (free_.empty()) grow();
  char* page = free_.back();
  free_.pop_back();
  return page;
}

void PagePool::grow() {
  const size_t size = bytes_ < kSlabsFrom ? kPageBytes : kSlabBytes;
  char* memory = env::allocate_pages(size);
  slabs_.push_back({memory, size});
  bytes_ += size;
  for (size_t at = size; at > 0; at -= kPageBytes) free_.push_back(memory + at - kPageBytes);
}

}  // namespace strand::state
