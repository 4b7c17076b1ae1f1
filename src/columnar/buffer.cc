// Buffers and the memory they come from. A page that the system hands out for the first time costs about
// twenty times a warm one, so freed blocks wait in a small cache of the thread, then in a bounded one of the
// process.
#include <array>
#include <bit>
#include <cstdlib>
#include <mutex>
#include <vector>

#include "columnar/column.h"

namespace strand::columnar {

namespace {

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kRecycle = false;  // so that a use after free is seen
#else
constexpr bool kRecycle = true;
#endif

constexpr size_t kPadding = 64;
constexpr size_t kSmallest = 64;
constexpr size_t kLargestRecycled = size_t{8} << 20;
constexpr size_t kThreadBytesMax = size_t{8} << 20;
constexpr size_t kSharedBytesMax = size_t{64} << 20;

// Four sizes to each doubling: at most a fifth of a block is wasted.
constexpr size_t kClasses = size_t{4} * 18;
constexpr size_t class_of(size_t size) {
  if (size <= kSmallest) return 0;
  const auto log = static_cast<size_t>(std::bit_width(size - 1) - 1);  // 2^log < size <= 2^(log + 1)
  const size_t quarter = ((size - 1) >> (log - 2)) & 3;
  return (log - 6) * 4 + quarter + 1;
}
constexpr size_t class_size(size_t index) {
  if (index == 0) return kSmallest;
  const size_t log = (index - 1) / 4 + 6;
  return (size_t{1} << log) + ((index - 1) % 4 + 1) * (size_t{1} << (log - 2));
}
static_assert(class_size(class_of(64)) == 64 && class_size(class_of(65)) == 80 &&
              class_size(class_of(128)) == 128);
static_assert(class_size(class_of(32'768)) == 32'768 && class_size(class_of(32'769)) == 40'960);
static_assert(class_of(kLargestRecycled) < kClasses &&
              class_size(class_of(kLargestRecycled)) == kLargestRecycled);

char* fresh(size_t capacity) {
  // aligned_alloc wants a multiple of the alignment.
  void* block = std::aligned_alloc(64, (capacity + kPadding + 63) / 64 * 64);
  STRAND_CHECK(block != nullptr);
  return static_cast<char*>(block);
}

/// Free blocks by size class, bounded in bytes.
class FreeBlocks {
 public:
  char* take(size_t index) {
    std::vector<char*>& list = lists_[index];
    if (list.empty()) return nullptr;
    char* block = list.back();
    list.pop_back();
    bytes_ -= class_size(index);
    return block;
  }
  bool put(size_t index, char* block, size_t bytes_max) {
    if (bytes_ + class_size(index) > bytes_max) return false;
    lists_[index].push_back(block);
    bytes_ += class_size(index);
    return true;
  }
  void free_all() {
    for (std::vector<char*>& list : lists_) {
      for (char* block : list) std::free(block);
      list.clear();
    }
    bytes_ = 0;
  }

 private:
  std::array<std::vector<char*>, kClasses> lists_;
  size_t bytes_ = 0;
};

/// Blocks that one thread freed and another may need: batches are made in one task and dropped in another.
class SharedBlocks {
 public:
  char* take(size_t index) {
    const std::lock_guard lock(mutex_);
    return blocks_.take(index);
  }
  void put(size_t index, char* block) {
    const std::lock_guard lock(mutex_);
    if (!blocks_.put(index, block, kSharedBytesMax)) std::free(block);
  }

 private:
  std::mutex mutex_;
  FreeBlocks blocks_;
};

SharedBlocks& shared_blocks() {
  static auto* blocks = new SharedBlocks;  // never destroyed: buffers of other statics may outlive it
  return *blocks;
}

struct ThreadBlocks {
  ~ThreadBlocks();
  FreeBlocks blocks;
};
thread_local bool thread_blocks_gone = false;
thread_local ThreadBlocks thread_blocks;
ThreadBlocks::~ThreadBlocks() {
  thread_blocks_gone = true;
  blocks.free_all();
}

char* take_block(size_t index) {
  if (!thread_blocks_gone) {
    if (char* block = thread_blocks.blocks.take(index); block != nullptr) return block;
  }
  if (char* block = shared_blocks().take(index); block != nullptr) return block;
  return fresh(class_size(index));
}

void give_block(size_t index, char* block) {
  if (!thread_blocks_gone && thread_blocks.blocks.put(index, block, kThreadBytesMax)) return;
  shared_blocks().put(index, block);
}

}  // namespace

std::shared_ptr<Buffer> Buffer::allocate(size_t size) {
  if (!kRecycle || size > kLargestRecycled) {
    return std::shared_ptr<Buffer>(new Buffer(fresh(size), size, size));
  }
  const size_t index = class_of(size);
  return std::shared_ptr<Buffer>(new Buffer(take_block(index), size, class_size(index)));
}

Buffer::~Buffer() {
  if (!kRecycle || capacity_ > kLargestRecycled) {
    std::free(data_);
  } else {
    give_block(class_of(capacity_), data_);
  }
}

}  // namespace strand::columnar
