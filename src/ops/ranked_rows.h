// Rows in an order.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace strand::ops {

/// The rows of one key by a sort key; equal ones in the order in which they came. A Row is the row's bytes or
/// its number elsewhere. Ranks begin at 0 and are few: rows are looked for from the first on by their sort
/// key.
template <class Row>
class RankedRows {
 public:
  struct Entry {
    std::string sort_key;
    Row row;
  };

  int64_t size() const { return size_; }
  /// How many rows stand before a new one of this sort key; looks no further than `most`.
  int64_t before(std::string_view sort_key, int64_t most) const {
    if (size_ >= most && last_of(most) <= sort_key) return most;
    int64_t rows = 0;
    for (const Part& part : parts_) {
      const auto at = std::ranges::upper_bound(part, sort_key, {}, &Entry::sort_key);
      rows += at - part.begin();
      if (at != part.end() || rows >= most) break;
    }
    return std::min(rows, most);
  }
  /// Appends the first `most` rows.
  void first(int64_t most, std::vector<Row>& out) const {
    for (const Part& part : parts_) {
      for (const Entry& entry : part) {
        if (most-- <= 0) return;
        out.push_back(entry.row);
      }
    }
  }
  const Row& front() const { return parts_.front().front().row; }
  const Entry& back() const { return parts_.back().back(); }
  void add(std::string_view sort_key, Row row) {
    if (parts_.empty()) parts_.emplace_back();
    auto part = parts_.begin();
    while (part + 1 != parts_.end() && part->back().sort_key <= sort_key) ++part;
    part->insert(std::ranges::upper_bound(*part, sort_key, {}, &Entry::sort_key),
                 Entry{std::string(sort_key), std::move(row)});
    ++size_;
    if (part->size() > kPartMax) split(part - parts_.begin());
  }
  /// The newest row of this sort key, which is there.
  const Row& newest(std::string_view sort_key) const {
    const Row* newest = nullptr;
    for (const Part& part : parts_) {
      const auto [from, to] = std::ranges::equal_range(part, sort_key, {}, &Entry::sort_key);
      if (from != to) newest = &std::prev(to)->row;
      if (to != part.end()) break;
    }
    return *newest;
  }
  /// Takes out the first row of this sort key for which is(row) is true; false where there is none.
  template <class Is>
  bool remove(std::string_view sort_key, Is&& is) {
    for (auto part = parts_.begin(); part != parts_.end(); ++part) {
      if (part->back().sort_key < sort_key) continue;
      const auto [from, to] = std::ranges::equal_range(*part, sort_key, {}, &Entry::sort_key);
      const auto found = std::find_if(from, to, [&](const Entry& entry) { return is(entry.row); });
      if (found != to) {
        part->erase(found);
        if (part->empty()) parts_.erase(part);
        --size_;
        return true;
      }
      if (to != part->end()) return false;
    }
    return false;
  }
  void drop_last() {
    parts_.back().pop_back();
    if (parts_.back().empty()) parts_.pop_back();
    --size_;
  }
  /// Calls f(entry) in the order.
  template <class F>
  void for_each(F&& f) const {
    for (const Part& part : parts_) std::ranges::for_each(part, f);
  }

 private:
  using Part = std::vector<Entry>;  // never empty
  static constexpr size_t kPartMax = 256;

  std::string_view last_of(int64_t most) const {
    for (const Part& part : parts_) {
      if (most <= static_cast<int64_t>(part.size())) return part[static_cast<size_t>(most - 1)].sort_key;
      most -= static_cast<int64_t>(part.size());
    }
    return {};
  }
  void split(std::ptrdiff_t at) {
    Part& whole = parts_[static_cast<size_t>(at)];
    const auto half = whole.begin() + kPartMax / 2;
    Part rest(std::make_move_iterator(half), std::make_move_iterator(whole.end()));
    whole.erase(half, whole.end());
    parts_.insert(parts_.begin() + at + 1, std::move(rest));
  }

  std::vector<Part> parts_;
  int64_t size_ = 0;
};

}  // namespace strand::ops
