#include <CLI/CLI.hpp>
#include <cstdio>

#include "../command.h"
#include "engine/run_command.h"

namespace strand::app {

namespace {

struct RunArguments {
  engine::JobArguments job;
  std::string from = "latest";
};

int run(Context& context, const RunArguments& arguments) {
  auto compiled = engine::load_job(arguments.job, context.real.files, context.registry, context.environment);
  if (!compiled.ok()) return engine::report(compiled.status());
  print_warnings(*compiled);
  return engine::run_plan(std::move(compiled->plan), {context.state, arguments.from, context.environment},
                          context.registry, context.real.env());
}

}  // namespace

void add_run(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Run a job until its input ends or it is stopped");
  add_job_options(*command, arguments->job);
  command->add_option("--from", arguments->from, "latest, none, or the path of a checkpoint or savepoint")
      ->capture_default_str();
  command->footer("Example: strandline run examples/ad-clicks/job.sql --set execution.checkpointing.interval=1s");
  command->callback([&context, &exit_code, arguments] { exit_code = run(context, *arguments); });
}

}  // namespace strand::app
