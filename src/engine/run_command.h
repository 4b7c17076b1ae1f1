// `strandline run`: a compiled job from start to exit code.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "connect/registry.h"
#include "engine/exit.h"
#include "engine/server.h"
#include "env/env.h"
#include "plan/plan.h"

namespace strand::engine {

struct RunCommand {
  std::string state;  // --state; empty: state_root()
  std::string from;   // latest, none, or a path; empty: execution.state-recovery.path, else latest
  std::map<std::string, std::string> environment = {};
  UiOption ui = {};
  std::string log_format = {};        // --log-format; empty: as the terminal or pipe wants
  std::string beside = {};            // --beside; see version_beside
  bool once = false;                  // --once; see runtime::JobOptions
  std::vector<Status> warnings = {};  // of compiling, told once at the start
  std::vector<std::string> notes = {};
};

/// Takes the job's lock, runs it until its input ends, it is stopped, or its restarts are used up. SIGINT and
/// SIGTERM stop with a savepoint; a second one ends at once. Blocks. Changes the process's signal handlers.
Exit run_plan(plan::Plan plan, const RunCommand& command, const connect::Registry& registry, env::Env env);

}  // namespace strand::engine
