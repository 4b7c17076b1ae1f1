#include <CLI/CLI.hpp>
#include <cstdio>

#include "command.h"

namespace strand::app {

void add_job_options(CLI::App& app, engine::JobArguments& arguments) {
  app.add_option("job", arguments.file, "The job: a Flink SQL file")->required();
  app.add_option("--set", arguments.set, "KEY=VALUE: a setting, over those of the file")->take_all();
  app.add_option("--with", arguments.with, "TABLE.KEY=VALUE: an option of a table")->take_all();
  app.add_option("--profile", arguments.profiles, "A YAML file with settings and table options")->take_all();
  app.add_option("--env-file", arguments.env_file, "NAME=VALUE lines for ${NAME} in profiles");
}

void print_warnings(const sql::CompiledJob& compiled) {
  for (const Status& warning : compiled.warnings) std::fprintf(stderr, "warning      %s\n", warning.to_string().c_str());
  for (const std::string& note : compiled.notes) std::fprintf(stderr, "note         %s\n", note.c_str());
}

}  // namespace strand::app
