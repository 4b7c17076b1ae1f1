// Words and tables that the reports share.
#pragma once

#include <string>
#include <vector>

#include "base/ids.h"

namespace strand::engine::reports {

/// `10:15:00.0 UTC`
std::string clock_text(WallTime t);
/// `10:15:00.0`; with the date where it is not the day of `now`.
std::string wall_text(WallTime t, WallTime now);
/// `10:14:34.999`; with the date where it is not the day of `now`. `nothing yet` for min(), `the end` for
/// max().
std::string event_text(EventTime t, WallTime now);
/// One unit, or two from a minute on: `0.4 s`, `25.0 s`, `2 min 30 s`, `3 h 12 min`, `2 d 4 h`.
std::string span_text(Duration d);
/// `1,234,567`
std::string count_text(int64_t n);
/// `12.3 MiB`
std::string bytes_text(int64_t n);
/// `1 row`, `2 rows`
std::string plural(int64_t n, const std::string& one, const std::string& many);
/// `a, b and 3 others`
std::string listed(const std::vector<std::string>& items, size_t at_most);

/// Rows of cells in columns; the first `left` columns and the last one are aligned left, the others right.
class TextTable {
 public:
  TextTable(std::vector<std::string> header, size_t left) : left_(left) {
    rows_.push_back(std::move(header));
  }
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text(const std::string& indent) const;

 private:
  size_t left_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace strand::engine::reports
