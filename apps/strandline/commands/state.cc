#include <CLI/CLI.hpp>

#include "../command.h"
#include "engine/inspect_state.h"

namespace strand::app {

namespace {

struct StateArguments {
  std::string path;
  bool json = false;
};

int state(Context& context, const StateArguments& arguments) {
  const auto found = engine::find_manifest(context.real.files, arguments.path);
  if (!found.ok()) return engine::report(found.status());
  print(arguments.json ? engine::manifest_json(*found) : engine::manifest_text(*found));
  return engine::kDone;
}

}  // namespace

void add_state(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<StateArguments>();
  CLI::App* command = app.add_subcommand("state", "Look inside a checkpoint or savepoint");
  command
      ->add_option("path", arguments->path,
                   "A manifest, the folder of a savepoint, or the folder of a job (its newest)")
      ->required();
  command->add_flag("--json", arguments->json, "One JSON object");
  command->footer("Example: strandline state ~/.local/state/strandline/ad-clicks");
  command->callback([&context, &exit_code, arguments] { exit_code = state(context, *arguments); });
}

}  // namespace strand::app
