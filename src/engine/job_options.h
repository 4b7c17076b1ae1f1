// From the settings of a plan to the options of a run.
#pragma once

#include <map>
#include <string>

#include "base/status.h"
#include "plan/plan.h"
#include "runtime/attempt.h"
#include "runtime/restart.h"

namespace strand::engine {

/// The folders of one job: ROOT/JOB/{checkpoints,savepoints,state,log,run}.
struct JobFolder {
  std::string root;  // ROOT/JOB
  std::string checkpoints() const { return root + "/checkpoints"; }
  std::string savepoints() const { return root + "/savepoints"; }
  std::string run() const { return root + "/run"; }
  std::string log() const { return root + "/log"; }
};

/// `--state DIR`, else $STRANDLINE_STATE, $STATE_DIRECTORY, $XDG_STATE_HOME/strandline,
/// ~/.local/state/strandline: never the working folder, so that a start from elsewhere finds its checkpoints.
std::string state_root(const std::string& option, const std::map<std::string, std::string>& environment);
/// The folder of a job; characters that a file name cannot hold become '_'.
JobFolder job_folder(const std::string& state_root, const std::string& job);

/// Errors: kBadOption with the setting's origin.
Result<runtime::JobOptions> job_options(const plan::Plan& plan, const JobFolder& folder, int cores,
                                        int64_t memory_bytes);
Result<runtime::RestartOptions> restart_options(const plan::Plan& plan);

/// `512 mb`, `2 gb`, a bare number of bytes.
Result<int64_t> parse_memory(const std::string& text);

}  // namespace strand::engine
