// `strandline recount`: the same plan over the present input, nothing late; and what differs from the tables.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "connect/registry.h"
#include "connect/sqlite/read.h"
#include "engine/collect.h"
#include "engine/job_options.h"
#include "env/env.h"
#include "plan/plan.h"

namespace strand::engine {

/// Reads the table to its present end, from the first record that it still has if it would begin elsewhere.
/// Commits nothing to a consumer group.
void read_to_present_end(plan::Scan& scan);

/// The plan of a recount: input is read to its present end, SQLite tables are collected in memory, other
/// sinks take their rows and forget them (a branch that diverts bad rows must stay, or a bad row would fail
/// the recount).
plan::Plan recount_plan(const plan::Plan& plan);

/// Runs a plan over the present input to its end, in a state folder of its own and without watermarks before
/// the end, so that nothing is late.
Status run_to_end(const plan::Plan& plan, const connect::Registry& registry, const std::string& scratch_dir,
                  const Machine& machine, env::Env env);
/// Runs the plan of a recount so.
Result<std::shared_ptr<Collection>> recount(const plan::Plan& plan, const connect::Registry& registry,
                                            const std::string& scratch_dir, const Machine& machine,
                                            env::Env env);

/// A SQLite table that a job writes, and how its columns share a count between them.
///
/// Convention: `late_X` holds what came too late for `F_X`, where F is another writer of the same table (in
/// the ad-click job `late_valid` and `fast_valid`). Their sum is what a recount finds in `F_X`. A `late_`
/// column without a partner has nothing to be compared with.
struct ComparedTable {
  std::string name;
  std::string path;
  std::string table_name;
  std::vector<std::string> key;
  std::vector<std::string> columns;            // to compare: those of the writers that are not `late_`
  std::map<std::string, std::string> late_of;  // column -> its late partner
  /// Whole numbers of a table with late parts that have none of their own: what came late is not in them.
  std::vector<std::string> without_late;
  /// Rows may be late on their way here, and no column of the table tells how many: a value may be lower than
  /// the recount's, never higher.
  bool may_miss_late = false;
};
std::vector<ComparedTable> compared_tables(const plan::Plan& plan);

struct Difference {
  std::string table;
  std::string key;
  std::string column;
  std::string expected;
  std::string found;
};
struct DiffReport {
  std::vector<Difference> differences;  // at most kShown of them are kept, `rows` counts all
  int64_t rows = 0;                     // differing rows
  int64_t compared = 0;
  int64_t short_of_late = 0;  // rows that hold less than the recount where late rows have no column
  static constexpr size_t kShown = 100;
};

/// Compares one table, key by key. Where buckets are roll-ups, a key column that begins with `M` in some rows
/// and with `H` in others (`M2026-02-08 10:14`, `H2026-02-08 10`): each `H` row must be the sum of its `M`
/// rows, late parts belong to the `H` row only, and an `M` row may hold less than the recount as far as the
/// `H` row's late part goes.
void compare(const ComparedTable& table, const connect::sqlite::TableRows& found,
             const CollectedTable& expected, DiffReport& report);

std::string diff_text(const DiffReport& report);
std::string collected_text(const std::map<std::string, CollectedTable>& tables);
std::string collected_json(const std::map<std::string, CollectedTable>& tables);

}  // namespace strand::engine
