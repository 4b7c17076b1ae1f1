#include <CLI/CLI.hpp>

#include "../command.h"
#include "base/text.h"
#include "engine/job_options.h"
#include "engine/predict.h"
#include "runtime/check_operators.h"

namespace strand::app {

namespace {

struct ExplainArguments {
  engine::JobArguments job;
  engine::Load load;
  std::string rate;
  std::string restart;
};

Status read_load(ExplainArguments& arguments) {
  if (!arguments.rate.empty()) {
    auto rate = engine::parse_rate(arguments.rate);
    if (!rate.ok()) return std::move(rate).status().at("--rate");
    arguments.load.rate = *rate;
  }
  if (arguments.restart.empty()) return Status();
  const auto restart = parse_duration(arguments.restart);
  if (!restart.ok())
    return Status(ErrorCode::kBadUsage, restart.status().message())
        .at("--restart")
        .hint("for example --restart '30 s'");
  arguments.load.restart = *restart;
  return Status();
}

/// Says which operators keep state on the local disk, and which in memory all the same.
Status print_homes(Context& context, const plan::Plan& plan, const runtime::JobOptions& options) {
  if (!options.spill_space) return Status();
  STRAND_TRY(const auto homes, runtime::state_homes(plan, context.registry, options.parallelism, options.zone,
                                                    context.real.env()));
  std::string on_disk;
  std::string in_memory;
  for (const runtime::StateHome& home : homes) {
    std::string& list = home.spills ? on_disk : in_memory;
    list += (list.empty() ? "" : ", ") + home.operator_id;
  }
  print("  (rocksdb: beyond memory on the local disk: " + (on_disk.empty() ? "nothing" : on_disk) +
        "; in memory only: " + (in_memory.empty() ? "nothing" : in_memory) + ")\n");
  return Status();
}

int explain(Context& context, ExplainArguments& arguments) {
  const auto compiled = load(context, arguments.job);
  if (!compiled.ok()) return report_load(compiled.status());
  if (const Status read = read_load(arguments); !read.ok()) return engine::report(read);
  const auto folder = engine::job_folder(state_root(context), compiled->plan.job);
  const auto options = engine::job_options(compiled->plan, folder, engine::this_machine());
  if (!options.ok()) return engine::report(options.status());
  const auto restart = engine::restart_options(compiled->plan);
  if (!restart.ok()) return engine::report(restart.status());
  print(plan::explain(compiled->plan));
  print("  (defaults: parallelism " + std::to_string(options->parallelism) + ", key groups " +
        std::to_string(options->max_parallelism) + ", ticks every " +
        format_duration(options->tick_interval) + ", state in " + options->checkpoint_dir + ")\n");
  if (const Status told = print_homes(context, compiled->plan, *options); !told.ok())
    return engine::report(told);
  print(engine::prediction_text(engine::predict(compiled->plan, *options, *restart, arguments.load),
                                arguments.load));
  return engine::kDone;
}

}  // namespace

void add_explain(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<ExplainArguments>();
  CLI::App* command = app.add_subcommand(
      "explain", "Show the plan, its state, settings with their origin, and what they promise");
  add_job_options(*command, arguments->job);
  const auto number = [&](const char* name, std::optional<int64_t>& value, const char* meaning,
                          int64_t lowest = 1) {
    command->add_option(name, value, meaning)->check(at_least(lowest));
  };
  engine::Load& load = arguments->load;
  command->add_option("--rate", arguments->rate, "Records that arrive: 100000, or 1000000000/day");
  number("--capacity", load.capacity, "Records a second that the job can read");
  number("--subtask-capacity", load.subtask_capacity, "Records a second that one subtask can read");
  number("--late-percent", load.late_percent, "Records whose window has closed when they come", 0);
  number("--hot-rate", load.hot_rate, "Records a second of the key with most of them");
  number("--id-bytes", load.id_bytes, "State for an id that a deduplication keeps; 48 for a UUID");
  number("--keys", load.keys, "Keys written since a checkpoint", 0);
  number("--sink-rate", load.sink_rate, "Keys a second that the table takes");
  number("--index-rate", load.index_rate, "Writes a second that one part of the table's index takes");
  command->add_option("--restart", arguments->restart,
                      "From a crash until rows are read again, such as '50 s'");
  command->footer("Example: strandline explain job.sql --rate 100000 --capacity 128000 --restart '50 s'");
  command->callback([&context, &exit_code, arguments] { exit_code = explain(context, *arguments); });
}

}  // namespace strand::app
