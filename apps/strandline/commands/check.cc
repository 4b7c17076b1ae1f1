#include <CLI/CLI.hpp>
#include <cstdio>

#include "../command.h"
#include "engine/check.h"
#include "engine/load.h"
#include "sql/flink_script.h"

namespace strand::app {

namespace {

struct CheckArguments {
  engine::JobArguments job;
  bool json = false;
  std::string target;
  bool rewrite = false;
};

/// The portable file on stdout, what is left in it on stderr.
int rewrite(sql::SqlInput input) {
  const auto script = sql::flink_script(input);
  if (!script.ok()) return report_load(script.status());
  print(*script);
  engine::CheckReport left;
  left.findings = engine::flink_findings({.text = *script, .file = input.file});
  std::fputs(engine::check_text(left).c_str(), stderr);
  return left.clean() ? engine::kDone : engine::kAnswerIsNo;
}

/// A file that is not there is bad usage, not an answer about its SQL.
int check(Context& context, const CheckArguments& arguments) {
  const auto compiled = load(context, arguments.job);
  if (!compiled.ok() && engine::exit_of(compiled.status()) != engine::kAnswerIsNo) {
    return report_load(compiled.status());
  }
  engine::CheckReport report = engine::check_job(compiled);
  if (!arguments.target.empty() && compiled.ok()) {
    const auto input = engine::read_input(arguments.job, *context.real.env().files, context.environment);
    if (!input.ok()) return report_load(input.status());
    if (arguments.rewrite) return rewrite(*input);
    for (lint::Finding& finding : engine::flink_findings(*input))
      report.findings.push_back(std::move(finding));
  }
  print(arguments.json ? engine::check_json(report) : engine::check_text(report));
  return report.clean() ? engine::kDone : engine::kAnswerIsNo;
}

}  // namespace

void add_check(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<CheckArguments>();
  CLI::App* command = app.add_subcommand("check", "Find errors and known traps without running the job");
  add_job_options(*command, arguments->job);
  command->add_flag("--json", arguments->json, "One JSON object");
  CLI::Option* target =
      command->add_option("--for", arguments->target,
                          "What else is to run the file: also what that would refuse, or answer "
                          "otherwise");
  target->check(CLI::IsMember({"flink"}))->option_text("flink");
  command->add_flag("--rewrite", arguments->rewrite, "Print the file as it runs there, profiles filled in")
      ->needs(target);
  command->footer("Example: strandline check job.sql || echo 'exit code 1: see above'");
  command->callback([&context, &exit_code, arguments] { exit_code = check(context, *arguments); });
}

}  // namespace strand::app
