// A command of the strandline binary.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "connect/registry.h"
#include "engine/exit.h"
#include "engine/load.h"
#include "env/real.h"

namespace CLI {
class App;
class Validator;
}  // namespace CLI

namespace strand::app {

/// What every command has: the process's environment and the connectors.
struct Context {
  env::RealEnv& real;
  connect::Registry& registry;
  std::map<std::string, std::string> environment;
  std::string state;  // --state
};

/// Options that name a job file, shared by the commands that read one.
void add_job_options(CLI::App& app, engine::JobArguments& arguments);
/// Those of them that say settings and options of tables.
void add_outside_options(CLI::App& app, engine::JobArguments& arguments);

/// Accepts whole numbers from `lowest` on.
CLI::Validator at_least(int64_t lowest);

/// Compiles the job of the command line.
Result<sql::CompiledJob> load(Context& context, const engine::JobArguments& arguments);
/// Prints why that failed and gives the exit code: a file that cannot be read is bad usage.
int report_load(const Status& error);
/// The folder below which jobs keep their state.
std::string state_root(const Context& context);
/// Cores of this machine.
int cores();
/// Prints text to stdout.
void print(const std::string& text);

/// Each adds its subcommand; `exit_code` is set when it has run.
void add_run(CLI::App& app, Context& context, int& exit_code);
void add_check(CLI::App& app, Context& context, int& exit_code);
void add_explain(CLI::App& app, Context& context, int& exit_code);
void add_recount(CLI::App& app, Context& context, int& exit_code);
void add_sim(CLI::App& app, Context& context, int& exit_code);
void add_status(CLI::App& app, Context& context, int& exit_code);
void add_why(CLI::App& app, Context& context, int& exit_code);
void add_ledger(CLI::App& app, Context& context, int& exit_code);
void add_savepoint(CLI::App& app, Context& context, int& exit_code);
void add_stop(CLI::App& app, Context& context, int& exit_code);
void add_state(CLI::App& app, Context& context, int& exit_code);
void add_gen(CLI::App& app, Context& context, int& exit_code);
void add_upgrade_check(CLI::App& app, Context& context, int& exit_code);
void add_sql(CLI::App& app, Context& context, int& exit_code);
void add_story(CLI::App& app, Context& context, int& exit_code);

}  // namespace strand::app
