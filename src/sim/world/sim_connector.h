// The connectors of simulated jobs: tables of a simulated database.
#pragma once

#include "connect/registry.h"
#include "connect/table/rules.h"
#include "sim/store/sim_store.h"

namespace strand::sim {

/// No request to a simulated store arrives later than this.
inline constexpr Duration kRequestLife{20'000};

/// `simstore`: a flush sink on `store`, which must outlive the sinks. All its writers share one lane. With
/// `parallel` each subtask has a lane of its own.
connect::Connector simstore_connector(SimStore* store, connect::table::Rules rules, bool parallel = false);

/// `simlog`: rows are added in transactions, by several subtasks.
connect::Connector simlog_connector(SimStore* store, connect::table::Rules rules);

}  // namespace strand::sim
