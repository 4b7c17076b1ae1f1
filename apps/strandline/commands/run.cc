#include <CLI/CLI.hpp>
#include <cstdio>

#include "../command.h"
#include "engine/catalogs.h"
#include "engine/run_command.h"

namespace strand::app {

namespace {

struct RunArguments {
  engine::JobArguments job;
  std::string from;
  std::string ui;
  std::string log_format;
  bool once = false;
  std::string beside;
};

int run(Context& context, const RunArguments& arguments) {
  auto compiled = load(context, arguments.job);
  if (!compiled.ok()) return report_load(compiled.status());
  const Status kept = engine::keep_catalogs(context.real.files, compiled->catalogs);
  if (!kept.ok()) return engine::report(kept);
  for (const sql::Shown& shown : compiled->shown) std::fputs(sql::to_text(shown).c_str(), stdout);
  if (compiled->plan.sinks.empty()) return engine::kDone;
  engine::RunCommand command;
  command.state = context.state;
  command.from = arguments.from;
  command.environment = context.environment;
  command.log_format = arguments.log_format;
  command.once = arguments.once;
  command.beside = arguments.beside;
  command.warnings = compiled->warnings;
  command.notes = compiled->notes;
  if (!arguments.ui.empty()) {
    auto ui = engine::parse_ui(arguments.ui);
    if (!ui.ok()) return engine::report(ui.status());
    command.ui = *ui;
  }
  return engine::run_plan(std::move(compiled->plan), command, context.registry, context.real.env());
}

}  // namespace

void add_run(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<RunArguments>();
  CLI::App* command = app.add_subcommand("run", "Run a job until its input ends or it is stopped");
  add_job_options(*command, arguments->job);
  command->add_option("--from", arguments->from,
                      "latest, none, or the path of a checkpoint or savepoint (default: latest, unless "
                      "execution.state-recovery.path is set)");
  command->add_flag(
      "--once", arguments->once,
      "Read what is there, write, checkpoint and end; event time does not end, and the next run "
      "goes on from there");
  command->add_option(
      "--beside", arguments->beside,
      "Run as a newer version beside this one of the same job, from a savepoint of it (--from): "
      "both write the same tables, the newer one decides, and when the other has been stopped, "
      "what only that has written goes");
  command->add_option("--ui", arguments->ui,
                      "ADDRESS:PORT of loopback for status and control, or off (default: 127.0.0.1:8081, "
                      "else the next free port)");
  command->add_option("--log-format", arguments->log_format,
                      "logfmt or json, one line an event, also on a terminal");
  command->footer(
      "Example: strandline run examples/ad-clicks/job.sql --set execution.checkpointing.interval=1s");
  command->callback([&context, &exit_code, arguments] { exit_code = run(context, *arguments); });
}

}  // namespace strand::app
