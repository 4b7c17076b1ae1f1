// Where the rows of an INSERT come from, as far as its sink must know.
#pragma once

#include <string>
#include <vector>

#include "plan/plan.h"

namespace strand::sql {

enum class RowOrigin : uint8_t {
  kOther,
  kClosed,  // each row is the final row of a window that has closed, and its key names key and window
  kEarly,   // totals of windows that are open
  kMixed,   // early and other rows: no sink can restore them
};

/// The origin of the rows that `columns` of `table` are set from.
RowOrigin row_origin(const plan::Input& rows, const plan::TableSpec& table,
                     const std::vector<std::string>& columns);

/// Whether a filter stands between a changelog and the input's end.
bool filters_updates(const plan::Input& rows);

/// Makes the aggregations whose changes reach the input send the old row before the new one.
void want_update_before(const plan::Input& rows);

}  // namespace strand::sql
