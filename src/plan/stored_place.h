// Which table of a store a table is.
#pragma once

#include <string>

#include "plan/plan.h"

namespace strand::plan {

/// The same text for two tables that are one in their store, as far as their options tell: `t` and `public.t`
/// of one PostgreSQL, with or without its port; `a.db` and `./a.db`. Without the part of the connector that
/// only writers have a use for.
std::string stored_place(const TableSpec& table);

}  // namespace strand::plan
