// What a snapshot holds beside the state of operators, and what the tables of a job hold: does an edit take
// them?
#pragma once

#include <string>
#include <vector>

#include "connect/registry.h"
#include "engine/upgrade_check.h"
#include "env/env.h"

namespace strand::engine {

/// Adds to the check what becomes of rows in the snapshot that are on their way to an operator (a barrier has
/// overtaken them), or that wait in a sink for their commit. Where they could not be put back the start is
/// refused, as by `run`.
void check_held_rows(const Upgrade& upgrade, UpgradeCheck& check);

/// Adds what each table of the new form says to a start from the snapshot: its columns, and how far it has
/// been written. Asks the stores, and changes nothing.
void ask_sinks(const Upgrade& upgrade, const connect::Registry& registry, env::Env env, UpgradeCheck& check);

}  // namespace strand::engine
