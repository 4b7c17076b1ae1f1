// Rows in an order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace strand::ops {

inline constexpr int64_t kRankedRowBytes = 112;  // of a row beside its bytes, about

/// The rows of one key, as bytes, by a sort key; equal ones in the order in which they came.
class RankedRows {
 public:
  int64_t size() const { return size_; }
  /// How many rows stand before a new one of this sort key; looks no further than `most`.
  int64_t before(const std::string& sort_key, int64_t most) const {
    int64_t rows = 0;
    for (auto it = by_key_.begin(); it != by_key_.end() && rows < most && it->first <= sort_key; ++it)
      rows += static_cast<int64_t>(it->second.size());
    return rows;
  }
  /// The first `most` rows.
  std::vector<const std::string*> first(int64_t most) const {
    std::vector<const std::string*> rows;
    for (const auto& [key, list] : by_key_) {
      for (const std::string& row : list) {
        if (static_cast<int64_t>(rows.size()) == most) return rows;
        rows.push_back(&row);
      }
    }
    return rows;
  }
  /// The sort key of the last row. Requires size() > 0.
  const std::string& last_key() const { return by_key_.rbegin()->first; }
  void add(std::string sort_key, std::string row) {
    by_key_[std::move(sort_key)].push_back(std::move(row));
    ++size_;
  }
  bool remove(const std::string& sort_key, const std::string& row) {
    const auto list = by_key_.find(sort_key);
    if (list == by_key_.end()) return false;
    const auto found = std::ranges::find(list->second, row);
    if (found == list->second.end()) return false;
    list->second.erase(found);
    if (list->second.empty()) by_key_.erase(list);
    --size_;
    return true;
  }
  /// Bytes of the row that went.
  size_t drop_last() {
    const auto last = std::prev(by_key_.end());
    const size_t bytes = last->first.size() + last->second.back().size();
    last->second.pop_back();
    if (last->second.empty()) by_key_.erase(last);
    --size_;
    return bytes;
  }
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [key, list] : by_key_) {
      for (const std::string& row : list) f(key, row);
    }
  }

 private:
  std::map<std::string, std::vector<std::string>> by_key_;
  int64_t size_ = 0;
};

}  // namespace strand::ops
