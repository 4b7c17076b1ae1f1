#include <CLI/CLI.hpp>
#include <csignal>

#include "base/text.h"
#include "command.h"

extern char** environ;

namespace {

std::map<std::string, std::string> read_environment() {
  std::map<std::string, std::string> out;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) out[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return out;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

/// What the user should have typed in place of `word`.
strand::Status unknown_command(const CLI::App& app, const std::string& word) {
  const auto names = command_names(app);
  const auto near = strand::nearest(word, names);
  std::string known;
  for (const std::string& name : names) known += (known.empty() ? "" : ", ") + name;
  return strand::Status(strand::ErrorCode::kBadUsage,
                        "expected a command, found " + (word.empty() ? "none" : "'" + word + "'"))
      .hint(near ? "did you mean '" + *near + "'?"
                 : "commands: " + known + "; strandline COMMAND --help tells more");
}

/// The command that was being read: `gen clicks` of `strandline gen clicks`.
const CLI::App& innermost(const CLI::App& app) {
  const auto chosen = app.get_subcommands();
  return chosen.empty() ? app : innermost(*chosen.front());
}

std::string usage_text(const CLI::App* app, const CLI::Error& error) {
  const CLI::App& command = innermost(*app);
  const bool no_command = error.get_name() == "RequiredError" && !command_names(command).empty();
  if (no_command) {
    const auto rest = app->remaining(true);
    return unknown_command(command, rest.empty() ? "" : rest.front()).to_string() + "\n";
  }
  std::string name = app->get_name();
  for (const CLI::App* at = app; at != &command;) {
    at = at->get_subcommands().front();
    name += " " + at->get_name();
  }
  return strand::Status(strand::ErrorCode::kBadUsage, error.what())
             .hint(name + " --help shows what it takes")
             .to_string() +
         "\n";
}

}  // namespace

int main(int argc, char** argv) {
  using namespace strand;
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has enough must not keep a command from cleaning up
  CLI::App app{"Strandline: event-time stream processing that stays right when a job is replayed",
               "strandline"};
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every command");
  app.set_version_flag("--version", "strandline " STRAND_VERSION);

  env::RealEnv real;
  connect::Registry registry;
  connect::add_builtin_connectors(registry);
  app::Context context{real, registry, read_environment(), {}};
  app.add_option("--state", context.state, "Folder of checkpoints and savepoints of all jobs")
      ->group("Global");
  app.fallthrough();

  int exit_code = engine::kDone;
  for (const auto add :
       {app::add_run, app::add_check, app::add_explain, app::add_recount, app::add_sim, app::add_status,
        app::add_why, app::add_ledger, app::add_savepoint, app::add_stop, app::add_state,
        app::add_upgrade_check, app::add_sql, app::add_gen, app::add_story}) {
    add(app, context, exit_code);
  }
  app.failure_message(usage_text);
  app.footer(
      "Example: strandline run job.sql\nExit codes: 0 done, 1 the answer is no, 2 bad usage, 3 failed while "
      "running, 4 refused to start, 5 no such job,\n130 and 143 stopped by a second signal. docs/commands.md "
      "tells more.");
  if (const std::string word = argc > 1 ? argv[1] : ""; !word.empty() && word[0] != '-') {
    const auto names = command_names(app);  // before --help, which would show the help of no command
    if (std::ranges::find(names, word) == names.end()) return engine::report(unknown_command(app, word));
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? engine::kDone : engine::kBadUsage;
  }
  return exit_code;
}
