// Rows of one size on frozen pages.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "state/frozen_pages.h"
#include "state/state_pages.h"

namespace strand::state {

/// Rows behind each other on pages, as they were when the pages were frozen. What a row leads to must be read
/// from `memory`. Owns what it reads; one reader, on any thread.
struct FrozenRows {
  std::shared_ptr<FrozenPages> memory;
  std::vector<const char*> pages;
  size_t row_bytes = 0;
  uint32_t per_page = 0;
  uint32_t on_last_page = 0;

  int64_t rows() const {
    if (pages.empty()) return 0;
    return static_cast<int64_t>(pages.size() - 1) * per_page + on_last_page;
  }
  size_t bytes() const { return static_cast<size_t>(rows()) * row_bytes; }
  /// Calls f(row) in their order. Each page can be read once.
  template <class F>
  void for_each(F&& f) const {
    for (size_t page = 0; page < pages.size(); ++page) {
      const uint32_t n = page + 1 == pages.size() ? on_last_page : per_page;
      const char* const rows = memory->take(pages[page], n * row_bytes);
      for (uint32_t i = 0; i < n; ++i) f(rows + i * row_bytes);
    }
  }
};

/// A part of a table's rows for a snapshot: which one in all tables of a memory, and when it last changed, in
/// freezes of the memory.
struct TablePart {
  static constexpr size_t kPages = 512;  // 16 MiB

  uint64_t table = 0;
  size_t first_page = 0;
  uint64_t changed = 0;
  FrozenRows rows;
};

/// All rows of a table in parts; one without rows where there are none, so that a restore hears of the table.
inline std::vector<TablePart> parts_of(const StatePages& memory, uint64_t table, const FrozenRows& all,
                                       size_t part_pages = TablePart::kPages) {
  if (all.pages.empty()) return {TablePart{table, 0, 0, all}};
  std::vector<TablePart> parts;
  for (size_t from = 0; from < all.pages.size(); from += part_pages) {
    const size_t until = std::min(from + part_pages, all.pages.size());
    TablePart& part = parts.emplace_back(
        TablePart{table, from, 0, {all.memory, {}, all.row_bytes, all.per_page, all.on_last_page}});
    part.rows.pages.assign(all.pages.begin() + static_cast<std::ptrdiff_t>(from),
                           all.pages.begin() + static_cast<std::ptrdiff_t>(until));
    if (until < all.pages.size()) part.rows.on_last_page = all.per_page;
    for (const char* page : part.rows.pages) {
      part.changed = std::max(part.changed, memory.changed(StatePages::id_of(page)));
    }
  }
  return parts;
}

}  // namespace strand::state
