// By which columns the rows of a changelog are known.
#pragma once

#include <set>
#include <vector>

#include "plan/plan.h"

namespace strand::sql {

/// Sets of columns that tell rows apart and whose changes come in order, because they are made in one
/// subtask: a table may have any of them as its primary key. An empty set: there is one row. Nothing known:
/// no set.
std::vector<std::set<size_t>> upsert_keys(const plan::Input& rows);

/// Whether `columns` tell all rows apart that never change, so that a table keyed by them loses none. A
/// computed column counts as what it reads; rows of a side output, and those of a UNION ALL whose branches
/// are told apart each, are taken to be different.
bool tells_rows_apart(const plan::Input& rows, std::set<size_t> columns);

/// Whether rows of a join of changelogs are among them.
bool reads_regular_join(const plan::Input& rows);

}  // namespace strand::sql
