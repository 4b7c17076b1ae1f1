// Commands that ask a running job.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "../command.h"
#include "engine/client.h"

namespace strand::app {

namespace {

constexpr Duration kAnswer{10'000};
constexpr Duration kSavepoint{1'800'000};
constexpr Duration kFollow{1'800'000};

struct AskArguments {
  std::string job;
  bool json = false;
  bool drain = false;
  std::string row;
};

Result<std::string> ask(Context& context, const AskArguments& arguments, engine::Verb verb,
                        const std::string& path, Duration deadline) {
  return engine::ask_job(context.real.files, state_root(context), arguments.job, verb, path, deadline);
}

int show(Context& context, const AskArguments& arguments, const std::string& path) {
  const auto answer =
      ask(context, arguments, engine::Verb::kGet, path + (arguments.json ? "?json" : ""), kAnswer);
  if (!answer.ok()) return engine::report(answer.status());
  print(*answer);
  return engine::kDone;
}

/// One job, or every job that answers.
int status(Context& context, const AskArguments& arguments) {
  if (!arguments.job.empty()) return show(context, arguments, "/status");
  const std::string root = state_root(context);
  int shown = 0;
  for (const engine::Endpoint& endpoint : engine::list_endpoints(context.real.files, root)) {
    if (!engine::answers(endpoint)) continue;
    const auto answer =
        engine::call(endpoint, engine::Verb::kGet, arguments.json ? "/status?json" : "/status", kAnswer);
    if (!answer.ok()) continue;
    print(*answer);
    ++shown;
  }
  if (shown > 0) return engine::kDone;
  return show(context, arguments, "/status");  // says that there is none
}

/// For the query of a path.
std::string percent_encoded(const std::string& text) {
  std::string out;
  for (const char c : text) {
    char code[4];
    std::snprintf(code, sizeof code, "%%%02X", static_cast<unsigned>(static_cast<unsigned char>(c)));
    out += code;
  }
  return out;
}

/// The way of the rows that hold a value; exit code 1 if the input has none.
int follow(Context& context, const AskArguments& arguments) {
  const auto answer =
      ask(context, arguments, engine::Verb::kGet, "/ledger?row=" + percent_encoded(arguments.row), kFollow);
  if (!answer.ok()) return engine::report(answer.status());
  const auto json = nlohmann::json::parse(*answer, nullptr, false);
  const bool found = json.is_object() && json.value("found", false);
  if (arguments.json || !json.is_object()) {
    print(*answer);
    return found ? engine::kDone : engine::kAnswerIsNo;
  }
  print(json.value("job", "") + "  " + json.value("column", "") + " = " + json.value("value", "") +
        ", counted anew from the present input\n");
  for (const auto& line : json["lines"]) print("  " + line.get<std::string>() + "\n");
  if (!found) print("  no record of the present input has it\n");
  return found ? engine::kDone : engine::kAnswerIsNo;
}

int ledger(Context& context, const AskArguments& arguments) {
  if (!arguments.row.empty()) return follow(context, arguments);
  AskArguments as_json = arguments;
  as_json.json = true;
  const auto answer = ask(context, as_json, engine::Verb::kGet, "/ledger?json", kAnswer);
  if (!answer.ok()) return engine::report(answer.status());
  const auto json = nlohmann::json::parse(*answer, nullptr, false);
  const bool balanced = json.is_object() && json.value("balanced", false);
  if (arguments.json) {
    print(*answer);
  } else if (const int code = show(context, arguments, "/ledger"); code != engine::kDone) {
    return code;
  }
  return balanced ? engine::kDone : engine::kAnswerIsNo;
}

int savepoint(Context& context, const AskArguments& arguments, bool stop) {
  const std::string path = stop ? (arguments.drain ? "/stop?drain" : "/stop") : "/savepoint";
  const auto answer = ask(context, arguments, engine::Verb::kPost, path, kSavepoint);
  if (!answer.ok()) return engine::report(answer.status());
  const auto json = nlohmann::json::parse(*answer, nullptr, false);
  print(arguments.json || !json.is_object() ? *answer : json.value("savepoint", "") + "\n");
  return engine::kDone;
}

CLI::App* add_ask(CLI::App& app, const char* name, const char* help,
                  const std::shared_ptr<AskArguments>& arguments) {
  CLI::App* command = app.add_subcommand(name, help);
  command->add_option("job", arguments->job,
                      "The job's pipeline.name; may be left out when one job runs here");
  command->add_flag("--json", arguments->json, "JSON");
  command->footer(std::string("Example: strandline ") + name + " ad-clicks");
  return command;
}

}  // namespace

void add_status(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<AskArguments>();
  add_ask(app, "status", "Jobs that run on this machine, or one of them", arguments)
      ->callback([&context, &exit_code, arguments] { exit_code = status(context, *arguments); });
}

void add_why(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<AskArguments>();
  add_ask(app, "why", "Through when data is complete, who holds event time, and what would release it",
          arguments)
      ->callback([&context, &exit_code, arguments] { exit_code = show(context, *arguments, "/why"); });
}

void add_ledger(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<AskArguments>();
  CLI::App* command =
      add_ask(app, "ledger", "Where every row of every operator has gone; exit code 1 if it does not balance",
              arguments);
  command->add_option(
      "--row", arguments->row,
      "KEY or COLUMN=VALUE: follow these records through the operators (reads the input anew); "
      "exit code 1 if there are none");
  command->footer("Example: strandline ledger ad-clicks\n         strandline ledger --row click_id=c2");
  command->callback([&context, &exit_code, arguments] { exit_code = ledger(context, *arguments); });
}

void add_savepoint(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<AskArguments>();
  add_ask(app, "savepoint", "Take a savepoint of a running job and print its path", arguments)
      ->callback([&context, &exit_code, arguments] { exit_code = savepoint(context, *arguments, false); });
}

void add_stop(CLI::App& app, Context& context, int& exit_code) {
  auto arguments = std::make_shared<AskArguments>();
  CLI::App* command = add_ask(app, "stop", "Stop a job with a savepoint and print its path", arguments);
  command->add_flag("--drain", arguments->drain, "End event time first: every open window closes, for good");
  command->callback([&context, &exit_code, arguments] { exit_code = savepoint(context, *arguments, true); });
}

}  // namespace strand::app
