#include "../command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <iostream>
#include <iterator>

#include "engine/console.h"
#include "shell.h"

namespace strand::app {

namespace {

constexpr uint64_t kScriptBytesMax = 16 << 20;

struct SqlArguments {
  std::optional<std::string> text;  // -e
  engine::JobArguments job;         // its file: -f
  std::string format;
};

shell::OutputOptions output_of(const SqlArguments& arguments) {
  const bool terminal = engine::is_terminal(stdout);
  shell::OutputOptions output;
  output.in_place = terminal;
  output.format = terminal ? shell::Format::kTable : shell::Format::kJson;
  if (arguments.format == "table") output.format = shell::Format::kTable;
  if (arguments.format == "csv") output.format = shell::Format::kCsv;
  if (arguments.format == "json") output.format = shell::Format::kJson;
  return output;
}

int run_statements(Context& context, const SqlArguments& arguments) {
  sql::SqlInput outside;
  outside.file = arguments.job.file.empty() ? "sql" : arguments.job.file;
  const Status applied =
      engine::apply_arguments(arguments.job, context.real.files, context.environment, outside);
  if (!applied.ok()) return engine::report(applied);
  shell::Shell shell(context, output_of(arguments), std::move(outside));
  if (arguments.text) return shell.run(*arguments.text);
  if (!arguments.job.file.empty()) {
    const auto text = env::read_all(context.real.files, arguments.job.file, kScriptBytesMax);
    return text.ok() ? shell.run(*text) : report_load(text.status());
  }
  if (engine::is_terminal(stdin) && engine::is_terminal(stdout)) return shell.talk();
  return shell.run(std::string(std::istreambuf_iterator<char>(std::cin), {}));
}

/// Rows that nobody could take are no answer.
int sql(Context& context, const SqlArguments& arguments) {
  const int exit = run_statements(context, arguments);
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  if (written || exit != engine::kDone) return exit;
  return engine::report(Status(ErrorCode::kIo, "standard output did not take the whole answer")
                            .hint("look at where it goes: a full disk, a reader that has ended"));
}

}  // namespace

void add_sql(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<SqlArguments>();
  CLI::App* command =
      app.add_subcommand("sql", "A shell: statements one after the other, and the rows of queries");
  CLI::Option* text = command->add_option("-e,-c", arguments->text, "Runs these statements and ends");
  command->add_option("-f", arguments->job.file, "Runs the statements of this file and ends")->excludes(text);
  command
      ->add_option(
          "--format", arguments->format,
          "table, csv or json (default: table on a terminal, else json: an object a line, those that are "
          "not new with \"op\")")
      ->check(CLI::IsMember({"table", "csv", "json"}));
  add_outside_options(*command, arguments->job);
  command->footer(
      "Example: strandline sql --format csv -e \"SELECT * FROM (VALUES (1, 'a'), (2, 'b')) AS t (n, s)\"");
  command->callback([&context, &exit_code, arguments] { exit_code = sql(context, *arguments); });
}

}  // namespace strand::app
