// What random jobs have in common: the table of clicks, and a log of them.
#pragma once

#include <string>
#include <vector>

#include "sim/store/sim_tables.h"
#include "sim/world/clicks.h"

namespace strand::sim {

/// CREATE TABLE clicks: read from the simulator's files, watermarks five seconds behind.
std::string create_clicks();
/// CREATE TABLE log, in a store with transactions.
std::string create_log();
inline constexpr const char* kInsertLog = "INSERT INTO log SELECT click_id FROM clicks;\n";
/// Every click is in the log as often as it was clicked.
void compare_log(const ClickInput& input, const SimTables& store, std::vector<std::string>& out);

/// `2026-02-08 10:14:00.000`, as SQL prints a TIMESTAMP(3).
std::string sql_instant(int64_t millis);
/// `INTERVAL '2.500' SECOND`
std::string sql_seconds(int64_t millis);

}  // namespace strand::sim
