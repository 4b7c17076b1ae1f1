#include "state/spill/memory_spill.h"

#include <map>
#include <mutex>

namespace strand::state {

namespace {

/// Entries in a tree, under a lock.
class MemoryStore : public SpillStore {
 public:
  explicit MemoryStore(SpillUse use) : use_(std::move(use)) {}

  Status put(const Next& next) override {
    const std::lock_guard lock(mutex_);
    if (use_.useless) std::erase_if(entries_, [&](const auto& e) { return use_.useless(e.first, e.second); });
    std::string_view key;
    std::string_view value;
    while (next(key, value)) entries_.insert_or_assign(std::string(key), std::string(value));
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
  Status drop(std::string_view prefix) override {
    const std::lock_guard lock(mutex_);
    auto at = entries_.lower_bound(prefix);
    while (at != entries_.end() && at->first.starts_with(prefix)) at = entries_.erase(at);
    return Status();
  }

 private:
  SpillUse use_;
  mutable std::mutex mutex_;
  std::map<std::string, std::string, std::less<>> entries_;
};

class MemorySpace : public SpillSpace {
 public:
  using SpillSpace::SpillSpace;
  Result<std::shared_ptr<SpillStore>> open(SpillUse use) override {
    return std::shared_ptr<SpillStore>(std::make_shared<MemoryStore>(std::move(use)));
  }
  SpillDisk disk() const override { return {}; }
};

}  // namespace

std::unique_ptr<SpillSpace> make_memory_space(int64_t table_bytes) {
  return std::make_unique<MemorySpace>(table_bytes);
}

}  // namespace strand::state
