#include <CLI/CLI.hpp>

#include "../command.h"
#include "base/text.h"
#include "engine/job_options.h"
#include "engine/predict.h"

namespace strand::app {

namespace {

struct ExplainArguments {
  engine::JobArguments job;
  engine::Load load;
  std::string restart;
};

int explain(Context& context, ExplainArguments& arguments) {
  const auto compiled = load(context, arguments.job);
  if (!compiled.ok()) return report_load(compiled.status());
  if (!arguments.restart.empty()) {
    const auto restart = parse_duration(arguments.restart);
    if (!restart.ok())
      return engine::report(Status(ErrorCode::kBadUsage, restart.status().message())
                                .at("--restart")
                                .hint("for example --restart '30 s'"));
    arguments.load.restart = *restart;
  }
  const auto folder = engine::job_folder(state_root(context), compiled->plan.job);
  const auto options = engine::job_options(compiled->plan, folder, engine::this_machine());
  if (!options.ok()) return engine::report(options.status());
  const auto restart = engine::restart_options(compiled->plan);
  if (!restart.ok()) return engine::report(restart.status());
  print(plan::explain(compiled->plan));
  print("  (defaults: parallelism " + std::to_string(options->parallelism) + ", key groups " +
        std::to_string(options->max_parallelism) + ", ticks every " +
        format_duration(options->tick_interval) + ", state in " + options->checkpoint_dir + ")\n");
  print(engine::prediction_text(engine::predict(*options, *restart, arguments.load), arguments.load));
  return engine::kDone;
}

}  // namespace

void add_explain(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand(
      "explain", "Show the plan, its state, settings with their origin, and what they promise");
  add_job_options(*command, arguments->job);
  command->add_option("--rate", arguments->load.rate, "Records a second that arrive")->check(at_least(0));
  command->add_option("--capacity", arguments->load.capacity, "Records a second that the job can read")
      ->check(at_least(1));
  command->add_option("--keys", arguments->load.keys, "Keys written since a checkpoint")->check(at_least(0));
  command->add_option("--sink-rate", arguments->load.sink_rate, "Keys a second that the table takes")
      ->check(at_least(1));
  command->add_option("--restart", arguments->restart,
                      "From a crash until rows are read again, such as '50 s'");
  command->footer("Example: strandline explain job.sql --rate 100000 --capacity 128000 --restart '50 s'");
  command->callback([&context, &exit_code, arguments] { exit_code = explain(context, *arguments); });
}

}  // namespace strand::app
