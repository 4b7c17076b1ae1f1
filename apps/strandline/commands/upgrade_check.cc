#include "engine/upgrade_check.h"

#include <CLI/CLI.hpp>

#include "../command.h"
#include "engine/inspect_state.h"
#include "engine/upgrade_held.h"

namespace strand::app {

namespace {

struct UpgradeArguments {
  engine::JobArguments job;  // of the new file
  std::string old_file;
  std::string from;
  bool json = false;
};

Result<engine::FoundManifest> snapshot_of(Context& context, const UpgradeArguments& arguments,
                                          const plan::Plan& old_plan) {
  if (!arguments.from.empty()) return engine::find_manifest(context.real.files, arguments.from);
  STRAND_TRY(auto manifest, engine::savepoint_of(old_plan, engine::this_machine()));
  return engine::FoundManifest{"a savepoint of " + arguments.old_file, std::move(manifest)};
}

int upgrade_check(Context& context, const UpgradeArguments& arguments) {
  engine::JobArguments old_job = arguments.job;
  old_job.file = arguments.old_file;
  const auto before = load(context, old_job);
  if (!before.ok()) return report_load(before.status());
  const auto now = load(context, arguments.job);
  if (!now.ok()) return report_load(now.status());
  const auto snapshot = snapshot_of(context, arguments, before->plan);
  if (!snapshot.ok()) return engine::report(snapshot.status());
  const engine::Upgrade upgrade{before->plan, now->plan, arguments.job.file, snapshot->manifest,
                                snapshot->path};
  auto check = engine::check_upgrade(upgrade, engine::this_machine());
  if (!check.ok()) return engine::report(check.status());
  engine::check_held_rows(upgrade, *check);
  if (!arguments.from.empty()) engine::ask_sinks(upgrade, context.registry, context.real.env(), *check);
  print(arguments.json ? engine::upgrade_json(*check) : engine::upgrade_text(*check));
  return check->refused.ok() ? engine::kDone : engine::kAnswerIsNo;
}

}  // namespace

void add_upgrade_check(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<UpgradeArguments>();
  CLI::App* command = app.add_subcommand(
      "upgrade-check", "What an edit of a job keeps of its state, what it loses, and the ways out");
  command->add_option("old", arguments->old_file, "The job as it runs: a Flink SQL file")->required();
  add_job_options(*command, arguments->job);
  command->add_option("--from", arguments->from,
                      "The checkpoint or savepoint that the new file would start from, or the folder of the "
                      "job (its newest); else one that the old file would leave");
  command->add_flag("--json", arguments->json, "One JSON object");
  command->footer(
      "Example: strandline upgrade-check old.sql new.sql || echo 'exit code 1: run would refuse new.sql'");
  command->callback([&context, &exit_code, arguments] { exit_code = upgrade_check(context, *arguments); });
}

}  // namespace strand::app
