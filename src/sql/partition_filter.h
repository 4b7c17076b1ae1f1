// Which partitions of a table a query can do without.
#pragma once

#include "plan/plan.h"

namespace strand::sql {

/// The parts of a condition over the output of a scan that ask for its partitions alone, joined by AND and
/// over TableSpec::partitions. Null: there is none.
expr::ExprPtr wanted_partitions(const plan::Scan& scan, const expr::ExprPtr& condition);

}  // namespace strand::sql
