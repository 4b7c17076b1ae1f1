// The connector `simstore`: tables of a simulated database.
#pragma once

#include "connect/registry.h"
#include "connect/table/rules.h"
#include "sim/store/sim_store.h"

namespace strand::sim {

/// A flush sink on `store`, which must outlive the sinks. All its writers share one lane.
connect::Connector simstore_connector(SimStore* store, connect::table::Rules rules);

}  // namespace strand::sim
