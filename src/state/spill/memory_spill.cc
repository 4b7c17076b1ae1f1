#include "state/spill/memory_spill.h"

#include <atomic>
#include <iterator>
#include <map>
#include <mutex>

#include "base/check.h"

namespace strand::state {

namespace {

using Entries = std::map<std::string, std::string, std::less<>>;

class MemoryView : public SpillView {
 public:
  explicit MemoryView(Entries entries) : entries_(std::move(entries)) {}
  Status scan(std::string_view from, std::string_view until, const Visit& f) override {
    for (auto at = entries_.lower_bound(from); at != entries_.end(); ++at) {
      if (!until.empty() && at->first >= until) break;
      STRAND_OK(f(at->first, at->second));
    }
    return Status();
  }

 private:
  Entries entries_;
};

/// Entries in a tree, under a lock.
class MemoryStore : public SpillStore {
 public:
  using Bytes = std::shared_ptr<std::atomic<int64_t>>;
  MemoryStore(SpillUse use, Bytes bytes) : use_(std::move(use)), bytes_(std::move(bytes)) {}

  Status put(const Next& next) override {
    const std::lock_guard lock(mutex_);
    for (auto at = entries_.begin(); use_.useless && at != entries_.end();)
      at = use_.useless(at->first, at->second) ? erase(at) : std::next(at);
    std::string_view key;
    std::string_view value;
    std::string last;
    for (bool first = true; next(key, value); first = false) {
      STRAND_CHECK(first || last < key);  // as a file of sorted entries has it
      last = key;
      if (const auto there = entries_.find(key); there != entries_.end()) erase(there);
      entries_.emplace(key, value);
      *bytes_ += static_cast<int64_t>(key.size() + value.size());
    }
    return Status();
  }
  Status get(std::span<const std::string_view> keys,
             const std::function<void(size_t, std::string_view)>& found) const override {
    const std::lock_guard lock(mutex_);
    for (size_t i = 0; i < keys.size(); ++i) {
      const auto entry = entries_.find(keys[i]);
      if (entry != entries_.end()) found(i, entry->second);
    }
    return Status();
  }
  Status scan(std::string_view prefix,
              const std::function<Status(std::string_view, std::string_view)>& f) const override {
    const std::lock_guard lock(mutex_);
    for (auto at = entries_.lower_bound(prefix); at != entries_.end() && at->first.starts_with(prefix); ++at)
      STRAND_OK(f(at->first, at->second));
    return Status();
  }
  std::shared_ptr<SpillView> view() const override {
    const std::lock_guard lock(mutex_);
    return std::make_shared<MemoryView>(entries_);
  }
  Status drop(std::string_view prefix) override {
    const std::lock_guard lock(mutex_);
    auto at = entries_.lower_bound(prefix);
    while (at != entries_.end() && at->first.starts_with(prefix)) at = erase(at);
    return Status();
  }

 private:
  Entries::iterator erase(Entries::iterator at) {
    *bytes_ -= static_cast<int64_t>(at->first.size() + at->second.size());
    return entries_.erase(at);
  }

  SpillUse use_;
  Bytes bytes_;
  mutable std::mutex mutex_;
  Entries entries_;
};

class MemoryBlock : public SpillBlock {
 public:
  MemoryBlock(std::string_view bytes, MemoryStore::Bytes count) : bytes_(bytes), count_(std::move(count)) {
    *count_ += static_cast<int64_t>(bytes_.size());
  }
  ~MemoryBlock() override { *count_ -= static_cast<int64_t>(bytes_.size()); }
  MemoryBlock(const MemoryBlock&) = delete;
  MemoryBlock& operator=(const MemoryBlock&) = delete;
  Status read(size_t from, size_t size, char* into) const override {
    STRAND_CHECK(from + size <= bytes_.size());
    bytes_.copy(into, size, from);
    return Status();
  }

 private:
  const std::string bytes_;
  MemoryStore::Bytes count_;
};

/// Copies, so that what is handed over does not stay where it was.
class MemoryBlocks : public SpillBlocks {
 public:
  explicit MemoryBlocks(MemoryStore::Bytes count) : count_(std::move(count)) {}
  Result<std::shared_ptr<const SpillBlock>> put(std::string_view bytes) override {
    return std::shared_ptr<const SpillBlock>(std::make_shared<MemoryBlock>(bytes, count_));
  }

 private:
  MemoryStore::Bytes count_;
};

class MemorySpace : public SpillSpace {
 public:
  using SpillSpace::SpillSpace;
  Result<std::shared_ptr<SpillStore>> open(SpillUse use) override {
    return std::shared_ptr<SpillStore>(std::make_shared<MemoryStore>(std::move(use), bytes_));
  }
  Result<std::unique_ptr<SpillBlocks>> open_blocks() override {
    return std::unique_ptr<SpillBlocks>(std::make_unique<MemoryBlocks>(bytes_));
  }
  SpillDisk disk() const override { return {.state = bytes_->load()}; }

 private:
  MemoryStore::Bytes bytes_ = std::make_shared<std::atomic<int64_t>>(0);
};

}  // namespace

std::unique_ptr<SpillSpace> make_memory_space(int64_t table_bytes) {
  return std::make_unique<MemorySpace>(table_bytes);
}

}  // namespace strand::state
