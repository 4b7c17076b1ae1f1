// The entries of a store's tag index.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "base/hash.h"
#include "connect/table/store.h"

namespace strand::connect::table {

/// Names entries as `generation#epoch#shard`, a shard for each kIndexShards-th of the keys.
class IndexEntries {
 public:
  IndexEntries() = default;
  explicit IndexEntries(Generation generation) : generation_(generation) {}

  /// Of a value that is written now; good until the next call with another epoch.
  const std::string& of(Epoch epoch, const std::string& key) {
    if (epoch != epoch_) {
      epoch_ = epoch;
      for (int64_t shard = 0; shard < kIndexShards; ++shard)
        names_[static_cast<size_t>(shard)] = name(generation_.value, epoch.value, shard);
    }
    return names_[hash64(key) % names_.size()];
  }
  /// Those of the epochs [low, high] of these generations.
  static std::vector<std::string> between(const std::vector<int64_t>& generations, Epoch low, Epoch high) {
    std::vector<std::string> names;
    for (const int64_t generation : generations) {
      for (int64_t epoch = low.value; epoch <= high.value; ++epoch) {
        for (int64_t shard = 0; shard < kIndexShards; ++shard)
          names.push_back(name(generation, epoch, shard));
      }
    }
    return names;
  }

 private:
  static std::string name(int64_t generation, int64_t epoch, int64_t shard) {
    return std::to_string(generation) + "#" + std::to_string(epoch) + "#" + std::to_string(shard);
  }
  Generation generation_{0};
  Epoch epoch_{-1};
  std::array<std::string, kIndexShards> names_;
};

}  // namespace strand::connect::table
