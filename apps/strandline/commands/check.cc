#include <CLI/CLI.hpp>

#include "../command.h"
#include "engine/check.h"

namespace strand::app {

namespace {

struct CheckArguments {
  engine::JobArguments job;
  bool json = false;
};

/// A file that is not there is bad usage, not an answer about its SQL.
int check(Context& context, const CheckArguments& arguments) {
  const auto compiled = load(context, arguments.job);
  if (!compiled.ok() && engine::exit_of(compiled.status()) != engine::kAnswerIsNo) {
    return report_load(compiled.status());
  }
  const engine::CheckReport report = engine::check_job(compiled);
  print(arguments.json ? engine::check_json(report) : engine::check_text(report));
  return report.clean() ? engine::kDone : engine::kAnswerIsNo;
}

}  // namespace

void add_check(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand("check", "Find errors and known traps without running the job");
  add_job_options(*command, arguments->job);
  command->add_flag("--json", arguments->json, "One JSON object");
  command->footer("Example: strandline check job.sql || echo 'exit code 1: see above'");
  command->callback([&context, &exit_code, arguments] { exit_code = check(context, *arguments); });
}

}  // namespace strand::app
