#include <CLI/CLI.hpp>
#include <csignal>

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

}  // namespace

int main(int argc, char** argv) {
  using namespace strand;
  std::signal(SIGPIPE, SIG_IGN);  // a reader that has enough must not keep a command from cleaning up
  CLI::App app{"Strandline: event-time stream processing that stays right when a job is replayed",
               "strandline"};
  app.require_subcommand(1);
  app.set_help_all_flag("--help-all", "Help of every command");

  env::RealEnv real;
  connect::Registry registry;
  connect::add_builtin_connectors(registry);
  app::Context context{real, registry, read_environment(), {}};
  app.add_option("--state", context.state, "Folder of checkpoints and savepoints of all jobs")
      ->group("Global");
  app.fallthrough();

  int exit_code = engine::kDone;
  for (const auto add :
       {app::add_run, app::add_check, app::add_explain, app::add_recount, app::add_status, app::add_why,
        app::add_ledger, app::add_savepoint, app::add_stop, app::add_state, app::add_gen, app::add_story}) {
    add(app, context, exit_code);
  }
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? engine::kDone : engine::kBadUsage;
  }
  return exit_code;
}
