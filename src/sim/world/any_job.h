// Any job, over input that is made from the schema of its tables or read from a folder.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "sim/world/judge.h"

namespace strand::sim {

/// The lines of each table's shards, by table; empty: lines are made from the schemas.
using GivenInput = std::map<std::string, std::vector<std::vector<std::string>>>;

/// The job with the simulator's ends: every table that it reads stands in files of the simulated machine,
/// every table that it writes in the simulated store. What must come out is the same plan over the whole
/// input in one undisturbed life, read as `strandline recount` reads it. Provisional rows (V$early) are not
/// compared.
///
/// Where only tumbling windows judge lateness (judged_windows) rows come out of order, some minutes late, and
/// shards fall silent, are not waited for, and come back; the recount then leaves out, in front of each
/// window, the rows that it has called late. Other jobs, and those whose input is given, get their rows in
/// the order of event time, so that none is late, and no shard counts as idle.
///
/// `parallel`: several subtasks write a table with a key. kNotSimulated if the job reads no table, writes
/// none that can be compared, or a column has a type of which no values are made.
Result<SimulatedJob> any_job(const plan::Plan& job, GivenInput given, bool parallel);

}  // namespace strand::sim
