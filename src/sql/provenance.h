// Where the rows of an INSERT come from, as far as its sink must know.
#pragma once

#include <optional>
#include <set>
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

/// How the rows that are changed later replace each other.
struct KeyOfChanges {
  const plan::Node* node = nullptr;
  std::set<size_t> columns;  // of its output; none: by nothing that has a name
  /// The table's primary key is made of exactly these, so that each change finds the row it replaces.
  bool fits = false;
};
/// Of the rows that `columns` of `table` are set from; nothing where it is not known.
std::optional<KeyOfChanges> key_of_changes(const plan::Input& rows, const plan::TableSpec& table,
                                           const std::vector<std::string>& columns);

/// Whether rows of V$early reach the input unchanged.
bool reads_early(const plan::Input& rows);

/// Whether a filter stands between a changelog and the input's end.
bool filters_updates(const plan::Input& rows);

/// Whether rows of V$early come through a filter: none says what a total was before.
bool filters_early(const plan::Input& rows);

/// Whether rows that are updated come through a filter behind a node that may put others between the old and
/// the new row: UNION ALL, UNNEST, a lookup.
bool filters_mixed_updates(const plan::Input& rows);

/// Makes these filters tell a table with a key of the rows that they let through no more, and the nodes
/// before them of the old rows.
void delete_what_is_filtered(const plan::Input& rows);

/// Who reads changes: an operator, which takes old rows back, or a sink that shows every change.
enum class ChangeReader : uint8_t { kOperator, kShown };

/// Makes the nodes whose changes reach the input send the old row before the new one. The one row of a key
/// of a Top-1 is shown without the old one, as in Flink.
void want_update_before(const plan::Input& rows, ChangeReader reader);

}  // namespace strand::sql
