#include <CLI/CLI.hpp>
#include <charconv>
#include <cstdio>

#include "command.h"
#include "engine/job_options.h"

namespace strand::app {

void add_job_options(CLI::App& app, engine::JobArguments& arguments) {
  app.add_option("job", arguments.file, "The job: a Flink SQL file")->required();
  add_outside_options(app, arguments);
}

void add_outside_options(CLI::App& app, engine::JobArguments& arguments) {
  app.add_option("--set", arguments.set, "KEY=VALUE: a setting, over those of the file")->take_all();
  app.add_option("--with", arguments.with, "TABLE.KEY=VALUE: an option of a table")->take_all();
  app.add_option("--profile", arguments.profiles, "A YAML file with settings and table options")->take_all();
  app.add_option("--env-file", arguments.env_file, "NAME=VALUE lines for ${NAME} in profiles");
}

CLI::Validator at_least(int64_t lowest) {
  const auto judge = [lowest](std::string& text) -> std::string {
    int64_t number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number >= lowest) return {};
    return "expected a whole number from " + std::to_string(lowest) + " on, found '" + text + "'";
  };
  return CLI::Validator(judge, "");
}

Result<sql::CompiledJob> load(Context& context, const engine::JobArguments& arguments) {
  return engine::load_job(arguments, context.registry, context.real.env(), context.environment);
}

int report_load(const Status& error) {
  const engine::Exit exit = engine::report(error);
  return exit == engine::kRefused ? engine::kBadUsage : exit;
}

std::string state_root(const Context& context) {
  return engine::state_root(context.state, context.environment);
}

int cores() { return engine::this_machine().cores; }

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

}  // namespace strand::app
