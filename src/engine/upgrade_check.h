// `strandline upgrade-check`: what an edit of a job keeps of its state. Touches nothing.
#pragma once

#include <string>
#include <vector>

#include "base/status.h"
#include "checkpoint/manifest.h"
#include "engine/job_options.h"
#include "plan/plan_changes.h"
#include "plan/state_fit.h"

namespace strand::engine {

struct UpgradeCheck {
  std::string job;
  std::string snapshot;  // its path, or whose savepoint it would be
  std::string new_file;
  /// What `run` would refuse the start with; the rest tells which operators, and the ways out.
  Status refused;
  std::vector<plan::OperatorFit> operators;
  std::vector<plan::PlanChange> changes;
  /// Rows of the snapshot that are in no state yet, and what the tables say (upgrade_held.h).
  std::vector<std::string> held = {};
  std::vector<std::string> ways_out;
  std::vector<std::string> notes;
};

/// The savepoint that a job would leave if it were stopped now, as far as a restore compares it.
Result<checkpoint::Manifest> savepoint_of(const plan::Plan& plan, const Machine& machine);

/// The plans of two files, and what the new one would start from.
struct Upgrade {
  const plan::Plan& before;
  const plan::Plan& now;
  std::string new_file;
  const checkpoint::Manifest& snapshot;
  std::string snapshot_name;
};

/// What becomes of a job when `now` goes on from a snapshot of `before`: by the rules of a restore
/// (runtime::check_state_fits). Sinks are not asked, and rows of the snapshot are not read (upgrade_held.h). Where neither
/// file names its job, they are one. Errors: kBadOption of settings, kStateMismatch of a fingerprint that
/// cannot be read.
Result<UpgradeCheck> check_upgrade(const Upgrade& upgrade, const Machine& machine);

std::string upgrade_text(const UpgradeCheck& check);
std::string upgrade_json(const UpgradeCheck& check);

}  // namespace strand::engine
