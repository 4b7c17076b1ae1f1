// Minutes and hours in one table: `M2026-02-08 10:14` and `H2026-02-08 10` in a column of its key.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/collect.h"

namespace strand::engine {

/// The key column whose values begin with `M` or `H`, if there is one: H rows are roll-ups of M rows.
class Buckets {
 public:
  /// A column in which values begin with either letter, both of them occurring, and with no other.
  static Buckets of(const std::vector<const Key*>& keys);

  bool any() const { return column_.has_value(); }
  bool is_minute(const Key& key) const { return begins(key, 'M'); }
  bool is_hour(const Key& key) const { return begins(key, 'H'); }
  /// `H2026-02-08 10` of `M2026-02-08 10:14`.
  Key hour_of(const Key& minute) const;
  /// `2026-02-08 10` of an hour. Requires is_hour.
  std::string date_of(const Key& hour) const { return hour[*column_]->substr(1); }

 private:
  bool begins(const Key& key, char letter) const {
    return column_ && key[*column_] && key[*column_]->starts_with(letter);
  }
  std::optional<size_t> column_;
};

/// A cell as a whole number; 0 for NULL, a part that was never written; nothing for any other value.
std::optional<int64_t> whole(const Cell& cell);

}  // namespace strand::engine
