#include "env/pages.h"

#include <malloc.h>
#include <sys/mman.h>

#include <cstdlib>

#include "base/check.h"

namespace strand::env {

namespace {
constexpr size_t kHugePage = size_t{2} << 20;
constexpr size_t kMediumPage = size_t{32} << 10;
constexpr size_t kSmallPage = size_t{4} << 10;
constexpr int kLargeBlock = 256 << 10;
}  // namespace

char* allocate_pages(size_t size) {
  STRAND_CHECK(size > 0 && size % kSmallPage == 0);
  const bool huge = size % kHugePage == 0;
  const size_t alignment = huge ? kHugePage : size % kMediumPage == 0 ? kMediumPage : kSmallPage;
  void* pages = std::aligned_alloc(alignment, size);
  STRAND_CHECK(pages != nullptr);
  // Only a hint: without it everything works, slower.
  if (huge) static_cast<void>(madvise(pages, size, MADV_HUGEPAGE));
  return static_cast<char*>(pages);
}

void free_pages(char* pages, size_t) { std::free(pages); }

void give_large_blocks_back() { static_cast<void>(mallopt(M_MMAP_THRESHOLD, kLargeBlock)); }

}  // namespace strand::env
