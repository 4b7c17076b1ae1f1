// From the text of a job file to its plan.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "plan/plan.h"

namespace strand::sql {

/// What a profile or `--with TABLE.KEY=VALUE` says about one table.
struct TableOverride {
  std::string table;
  /// No value: removes the option.
  std::map<std::string, std::optional<std::string>> options;
  /// The options replace those of the WITH clause (a profile that names a connector); else they are merged
  /// into them.
  bool replaces_all = false;
  /// An expression that takes the place of that of WATERMARK FOR.
  std::optional<std::string> watermark;
  std::string origin;  // `prod.yaml`, `--with`
};

/// Whether the connector that `options` name is known and takes them, as source or sink. Its errors need no
/// place.
using CheckOptions = std::function<Status(const std::map<std::string, std::string>& options, bool as_sink)>;

struct SqlInput {
  std::string text;
  std::string file;  // for messages, and the job's name where `pipeline.name` is not set
  /// Settings given outside the file: a SET or RESET of them is skipped with a note.
  std::map<std::string, plan::Setting> settings = {};
  /// Applied in this order over the WITH clauses.
  std::vector<TableOverride> tables = {};
  CheckOptions check_options = {};
};

struct CompiledJob {
  plan::Plan plan;
  std::vector<Status> warnings;    // numbered, with a place, do not keep the job from running
  std::vector<std::string> notes;  // what was skipped, and why
};

/// Compiles all INSERTs and bare SELECTs of a file into one job. Errors carry `file:line:column`, the line
/// with a caret under the place, and a way out. Pure: the same input gives the same plan, node ids included.
Result<CompiledJob> compile(const SqlInput& input);

}  // namespace strand::sql
