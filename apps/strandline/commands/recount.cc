#include "engine/recount.h"

#include <unistd.h>

#include <CLI/CLI.hpp>

#include "../command.h"

namespace strand::app {

namespace {

struct RecountArguments {
  engine::JobArguments job;
  bool diff = false;
  bool json = false;
};

/// A folder for the state of one recount, removed with it.
class Scratch {
 public:
  Scratch(env::FileSystem& files, const std::map<std::string, std::string>& environment) : files_(files) {
    const auto dir = environment.find("TMPDIR");
    path_ = (dir == environment.end() ? std::string("/tmp") : dir->second) + "/strandline-recount-" +
            std::to_string(getpid());
  }
  ~Scratch() {
    const Status removed = files_.remove_all(path_);
    if (!removed.ok()) engine::report(removed);
  }
  const std::string& path() const { return path_; }

 private:
  env::FileSystem& files_;
  std::string path_;
};

int diff(const plan::Plan& plan, const engine::Collection& collection) {
  engine::DiffReport report;
  for (const engine::ComparedTable& table : engine::compared_tables(plan)) {
    const auto found = connect::sqlite::read_table(table.path, table.table_name);
    if (!found.ok()) return engine::report(found.status());
    const auto counted = collection.tables().find(table.name);
    engine::CollectedTable none;
    none.key = table.key.empty() ? found->columns : table.key;
    engine::compare(table, *found, counted == collection.tables().end() ? none : counted->second, report);
  }
  print(engine::diff_text(report));
  return report.rows == 0 ? engine::kDone : engine::kAnswerIsNo;
}

int recount(Context& context, const RecountArguments& arguments) {
  const auto compiled = load(context, arguments.job);
  if (!compiled.ok()) return engine::report(compiled.status());
  const Scratch scratch(context.real.files, context.environment);
  const auto collection = engine::recount(compiled->plan, context.registry, scratch.path(), cores(),
                                          memory_bytes(), context.real.env());
  if (!collection.ok()) {
    engine::report(collection.status());
    return engine::kFailed;
  }
  if (arguments.diff) return diff(compiled->plan, **collection);
  const auto& tables = (*collection)->tables();
  print(arguments.json ? engine::collected_json(tables) : engine::collected_text(tables));
  return engine::kDone;
}

}  // namespace

void add_recount(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<RecountArguments>();
  CLI::App* command =
      app.add_subcommand("recount", "Count the present input anew, nothing late, and compare");
  add_job_options(*command, arguments->job);
  command->add_flag("--diff", arguments->diff,
                    "Compare with the SQLite tables: F_X + late_X = recount, H rows = sum of their M rows");
  command->add_flag("--json", arguments->json, "One JSON object a row")->excludes("--diff");
  command->footer(
      "Example: strandline stop ad-clicks --drain && strandline recount job.sql --diff\n"
      "Rows of windows that are still open are not in the tables yet: stop the job with --drain first.");
  command->callback([&context, &exit_code, arguments] { exit_code = recount(context, *arguments); });
}

}  // namespace strand::app
