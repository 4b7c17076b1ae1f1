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
}

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

/// What compiling had to say beside the plan, to stderr.
void print_warnings(const sql::CompiledJob& compiled);

/// Each adds its subcommand; `exit_code` is set when it has run.
void add_run(CLI::App& app, Context& context, int& exit_code);

}  // namespace strand::app
