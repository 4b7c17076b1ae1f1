// From the settings of a plan to the options of a run.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "connect/registry.h"
#include "plan/plan.h"
#include "runtime/attempt.h"
#include "runtime/restart.h"

namespace strand::engine {

/// The folders of one job: ROOT/JOB/{checkpoints,savepoints,state,log,run,local}.
struct JobFolder {
  std::string root;  // ROOT/JOB
  std::string checkpoints() const { return root + "/checkpoints"; }
  std::string savepoints() const { return root + "/savepoints"; }
  std::string run() const { return root + "/run"; }
  std::string log() const { return root + "/log"; }
  std::string local() const { return root + "/local"; }
};

/// `--state DIR`, else $STRANDLINE_STATE, $STATE_DIRECTORY, $XDG_STATE_HOME/strandline,
/// ~/.local/state/strandline: never the working folder, so that a start from elsewhere finds its checkpoints.
std::string state_root(const std::string& option, const std::map<std::string, std::string>& environment);
/// The folder of a job; characters that a file name cannot hold become '_'.
JobFolder job_folder(const std::string& state_root, const std::string& job);

/// What defaults are made from.
struct Machine {
  int cores = 1;
  int64_t memory_bytes = 0;
};
Machine this_machine();

/// Errors: kBadOption with the setting's origin.
Result<runtime::JobOptions> job_options(const plan::Plan& plan, const JobFolder& folder,
                                        const Machine& machine);
Result<runtime::RestartOptions> restart_options(const plan::Plan& plan);

/// Whether a start would refuse the plan for what it says itself: its settings, its tables, its operators.
/// Touches nothing.
Status check_plan(const plan::Plan& plan, const connect::Registry& registry, env::Env env);

/// `512 mb`, `2 gb`, a bare number of bytes.
Result<int64_t> parse_memory(const std::string& text);

}  // namespace strand::engine
