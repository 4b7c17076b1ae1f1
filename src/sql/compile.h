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

/// What the rows of a table are: all new (+I); a changelog with the old row before each update (+I, -U, +U,
/// -D); or rows that are set and deleted by the primary key (+I, +U, -D).
enum class TableRows : uint8_t { kNew, kChanges, kUpserts };

/// Whether the connector of a table is known and takes the table as it is declared: to be read, or to be
/// written by this writer. Errors need no place.
struct TableChecks {
  std::function<Status(const plan::TableSpec&)> read = [](const plan::TableSpec&) { return Status(); };
  std::function<Status(const plan::SinkWrite&)> write = [](const plan::SinkWrite&) { return Status(); };
  std::function<TableRows(const plan::TableSpec&)> rows = [](const plan::TableSpec&) {
    return TableRows::kNew;
  };
  /// Whether a table shows each change as it is, beside those that print and blackhole make.
  std::function<bool(const plan::TableSpec&)> shows_changes = [](const plan::TableSpec&) { return false; };
  /// Whether a table finds rows by key (FOR SYSTEM_TIME AS OF processing time).
  std::function<bool(const plan::TableSpec&)> looks_up = [](const plan::TableSpec&) { return false; };
  /// The metadata columns that a table may declare, by key, in the types that they have.
  std::function<std::vector<columnar::Field>(const plan::TableSpec&)> metadata = [](const plan::TableSpec&) {
    return std::vector<columnar::Field>();
  };
  /// Those that an INSERT into a table may set.
  std::function<std::vector<columnar::Field>(const plan::TableSpec&)> written_metadata =
      [](const plan::TableSpec&) { return std::vector<columnar::Field>(); };
};

struct SqlInput {
  std::string text;
  std::string file;  // for messages, and the job's name where `pipeline.name` is not set
  /// Settings given outside the file: a SET or RESET of them is skipped with a note.
  std::map<std::string, plan::Setting> settings = {};
  /// Applied in this order over the WITH clauses.
  std::vector<TableOverride> tables = {};
  bool unfinished = false;  // more is to come: an override of a table that is not there yet is no mistake
  TableChecks checks = {};
  /// The file of a catalog, or nothing where there is none. Not set: such catalogs are refused.
  std::function<Result<std::optional<std::string>>(const std::string& path)> read_catalog = {};
};

/// What SHOW, DESCRIBE or EXPLAIN has answered, in the order of the file.
struct Shown {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;
};
/// A table with lines around its cells; of the one column `result` its text.
std::string to_text(const Shown& shown);

/// A catalog in a file that a script has opened: what it held before the script, and holds behind it.
struct KeptCatalog {
  std::string name;
  std::string path;
  std::optional<std::string> before;  // none: there was no file
  std::string text;

  bool changed() const { return before != text; }
};

struct CompiledJob {
  plan::Plan plan;  // without sinks where the file only shows something
  std::vector<Shown> shown;
  std::vector<Status> warnings;            // numbered, with a place, do not keep the job from running
  std::vector<std::string> notes;          // what was skipped, and why
  std::vector<KeptCatalog> catalogs = {};  // for a command that runs the script to write
};

/// Compiles all INSERTs and bare SELECTs of a file into one job. Errors carry `file:line:column`, the line
/// with a caret under the place, and a way out. The same input, libraries of functions and files of catalogs
/// give the same plan, node ids included; nothing is written.
Result<CompiledJob> compile(const SqlInput& input);

}  // namespace strand::sql
