#include "engine/upgrade_check.h"

#include <algorithm>
#include <set>

#include "runtime/state_fits.h"

namespace strand::engine {

namespace {

using plan::OperatorFit;
using plan::PlanChange;

std::string owner_of(const std::string& id) { return id.substr(0, id.find('/')); }

bool is_writer(const UpgradeCheck& check, const std::string& owner) {
  return std::ranges::count(check.operators, owner + "/sink", &OperatorFit::id) != 0;
}

/// How an operator gets another id: ids begin with the name of the view, or of the writer.
std::string renaming(const UpgradeCheck& check, const std::string& id) {
  const std::string owner = owner_of(id);
  if (!is_writer(check, owner)) return "give view " + owner + " another name";
  const std::string table = owner.substr(0, owner.find('.'));
  if (table == "print" || table.starts_with("print-")) return "make a view of the query";
  return "give the INSERT into " + table + " another name (OPTIONS('strand.writer' = '…'))";
}

std::string undoing(const UpgradeCheck& check, const OperatorFit& fit) {
  if (fit.fate == OperatorFit::Fate::kGone) return fit.id + ": put it back, or let its state go";
  const std::string anew = fit.is_end() ? "" : ": under a new id it starts empty";
  return fit.id + ": undo the change, or " + renaming(check, fit.id) + anew;
}

std::string joined(const std::set<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ",") + word;
  return text;
}

/// What a user may do about operators whose state does not fit.
std::vector<std::string> ways_out(const UpgradeCheck& check, std::set<std::string> dropped) {
  std::vector<std::string> ways;
  for (const OperatorFit& fit : check.operators) {
    if (!fit.refused()) continue;
    ways.push_back(undoing(check, fit));
    dropped.insert(fit.id);
  }
  if (ways.empty()) return ways;
  ways.push_back("a gap that you declare, with those names gone: SET 'strand.state.drop' = '" +
                 joined(dropped) +
                 "' lets their state go (Flink's allowNonRestoredState, by name); what starts empty knows "
                 "nothing from before the snapshot");
  ways.push_back("both versions, with those names gone: run " + check.new_file + " --beside " + check.job +
                 " --from a savepoint older than the windows that must be whole; the old version goes on "
                 "until you stop it");
  ways.push_back("count again: run " + check.new_file +
                 " --from none reads the input from its start, as far as it is still there");
  return ways;
}

bool asks_for_savepoint(const UpgradeCheck& check) {
  return std::ranges::any_of(
      check.changes, [](const PlanChange& change) { return change.about != PlanChange::About::kOther; });
}

}  // namespace

Result<checkpoint::Manifest> savepoint_of(const plan::Plan& plan, const Machine& machine) {
  STRAND_TRY(const runtime::JobOptions options, job_options(plan, {}, machine));
  checkpoint::Manifest manifest;
  manifest.kind = checkpoint::SnapshotKind::kSavepoint;
  manifest.job = plan.job;
  manifest.parallelism = options.parallelism;
  manifest.max_parallelism = options.max_parallelism;
  manifest.fingerprint = plan::fingerprint(plan);
  return manifest;
}

Result<UpgradeCheck> check_upgrade(const Upgrade& upgrade, const Machine& machine) {
  STRAND_TRY(runtime::JobOptions options, job_options(upgrade.now, {}, machine));
  const checkpoint::Manifest& snapshot = upgrade.snapshot;
  const std::string& old_name = upgrade.before.job;
  UpgradeCheck check;
  check.job = snapshot.job;
  check.snapshot = upgrade.snapshot_name;
  check.new_file = upgrade.new_file;
  const auto is_named = [](const plan::Plan& plan) { return !plan.setting("pipeline.name", "").empty(); };
  const bool named = is_named(upgrade.before) || is_named(upgrade.now);
  if (!named && options.job != old_name && snapshot.job == old_name) {
    check.notes.push_back(
        "neither file sets 'pipeline.name', so each is called as its file: run the new one with --set "
        "pipeline.name=" +
        old_name);
    options.job = old_name;
  }
  check.refused = runtime::check_state_fits(snapshot, upgrade.snapshot_name, upgrade.now, options);
  STRAND_TRY(check.operators,
             plan::fit_state(snapshot.fingerprint, plan::fingerprint(upgrade.now), options.may_drop));
  check.changes = plan::plan_changes(upgrade.before, upgrade.now);
  check.ways_out = ways_out(check, options.may_drop);
  if (asks_for_savepoint(check)) {
    check.notes.push_back("take a savepoint before the change, and go on from it: strandline stop " +
                          check.job + "; the unchanged file can go back to it, too");
  }
  return check;
}

}  // namespace strand::engine
