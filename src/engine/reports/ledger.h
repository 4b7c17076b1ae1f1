// `strandline ledger`: where every row of every operator has gone.
#pragma once

#include <string>

#include "engine/reports/books.h"

namespace strand::engine::reports {

/// The table; `balanced` or `off by N` in its first line. Projections and unions, which neither drop nor hold
/// rows, are left out while they balance. Requires view.attempt.
std::string ledger_text(const JobView& view, const plan::Plan& plan, WallTime now);
/// Every operator, as JSON.
std::string ledger_json(const JobView& view, const plan::Plan& plan, WallTime now);

}  // namespace strand::engine::reports
