// conformance: replays recorded behaviour of Flink's operators and tells where the engine differs.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <map>
#include <optional>
#include <string>

#include "conformance/backend.h"
#include "conformance/corpus.h"
#include "conformance/family.h"
#include "conformance/replay_case.h"
#include "conformance/sql/run.h"
#include "expr/catalogue.h"

namespace strand::conformance {
namespace {

struct Options {
  bool sql = false;
  size_t sql_batch = 1;
  std::string folder;
  std::string where;
  ReplayOptions replay;
  std::optional<int> parallelism;
  bool strict = false;
  bool verbose = false;
};

struct Tally {
  int passed = 0;
  int failed = 0;
  int unsupported = 0;
  Tally& operator+=(const Tally& o) {
    passed += o.passed;
    failed += o.failed;
    unsupported += o.unsupported;
    return *this;
  }
};

void run_case(const Json& test_case, const Options& options, Tally& tally) {
  const Outcome outcome = replay_case(test_case, options.replay);
  const char* verdict = "passed";
  switch (outcome.verdict) {
    case Verdict::kPassed:
      ++tally.passed;
      break;
    case Verdict::kFailed:
      ++tally.failed;
      verdict = "failed";
      break;
    case Verdict::kUnsupported:
      ++tally.unsupported;
      verdict = "unsupported";
      break;
  }
  if (options.verbose && outcome.verdict != Verdict::kPassed)
    std::printf("%s %s: %s\n", verdict, text(test_case, "id").c_str(), outcome.why.c_str());
}

void print(const std::string& name, const Tally& tally) {
  std::printf("%s%d passed, %d failed, %d unsupported\n", name.c_str(), tally.passed, tally.failed,
              tally.unsupported);
}

Result<Tally> run(const Options& options) {
  if (options.sql) {
    STRAND_TRY(const sql::Counts counts,
               sql::run({options.folder, options.where, options.verbose, options.parallelism,
                         options.replay.restore_each_step, options.replay.spill_space, options.sql_batch}));
    return Tally{counts.passed, counts.failed, counts.unsupported};
  }
  STRAND_TRY(const Where where, Where::parse(options.where));
  STRAND_TRY(const std::vector<std::string> files, case_files(options.folder));
  std::map<std::string, Tally> families;
  for (const std::string& file : files) {
    STRAND_TRY(const std::vector<Json> cases, read_cases(file));
    for (const Json& test_case : cases) {
      if (where.matches(test_case)) {
        run_case(test_case, options, families[text(test_case, "family")]);
      }
    }
  }
  Tally all;
  for (const auto& [name, tally] : families) {
    print(name + ": ", tally);
    all += tally;
  }
  print("", all);
  return all;
}

/// What both kinds of cases take.
void add_options(CLI::App& command, Options& options, const char* restore) {
  command.add_option("DIR", options.folder, "Where the cases are")->required();
  command.add_flag("--restore-each-step", options.replay.restore_each_step, restore);
  command.add_flag("--strict", options.strict, "Cases that are not supported count as failed");
  command.add_flag("-v,--verbose", options.verbose, "Say what differs, and why a case is not supported");
}

int exit_code(const Result<Tally>& tally, bool strict) {
  if (!tally.ok()) {
    std::fprintf(stderr, "%s\n", tally.status().to_string().c_str());
    return 2;
  }
  const bool nothing_run = tally->passed + tally->failed + tally->unsupported == 0;
  if (nothing_run) std::fprintf(stderr, "no case matches\n");
  return nothing_run || tally->failed > 0 || (strict && tally->unsupported > 0) ? 1 : 0;
}

int main_with(int count, char** arguments) {
  Options options;
  std::string backend;
  CLI::App app{"Replays recorded behaviour of Flink and tells where the engine differs", "conformance"};
  app.require_subcommand(1);
  CLI::App* operators =
      app.add_subcommand("operators", "Every case of the .jsonl and .jsonl.zst files in DIR");
  add_options(*operators, options,
              "Compare a run that is stopped and restored after each step with one that is not, both keeping "
              "the floor; cases of parts without state are not supported");
  operators->add_option("--where", options.where,
                        "Only cases with these values: family=window,trigger=default");
  operators
      ->add_option("--batch", options.replay.batch_rows,
                   "Elements that are handed over at once, where one takes batches")
      ->check(CLI::PositiveNumber);
  CLI::App* sql = app.add_subcommand("sql", "Every .case file below DIR: SQL text, input and output");
  add_options(*sql, options,
              "Stop or crash the job before each row and go on from its savepoint or checkpoint");
  sql->add_option("--where", options.where, "Only cases of these values: topic=window_tvf,case=hop");
  sql->add_option("--parallelism", options.parallelism, "Of cases that do not say their own")
      ->check(CLI::PositiveNumber);
  sql->add_option("--batch", options.sql_batch,
                  "Play each query twice, so many lines at once and one by one, and compare the tables")
      ->check(CLI::Range(2, 100'000));
  for (CLI::App* command : {operators, sql}) {
    command
        ->add_option("--backend", backend,
                     "Where state lives: in memory (hashmap); nothing there for longer than a batch (spill); "
                     "the same, in RocksDB (rocksdb)")
        ->check(CLI::IsMember({"hashmap", "spill", "rocksdb"}));
  }
  CLI::App* functions = app.add_subcommand("functions", "Print docs/sql/functions.md");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    const int code = app.exit(error);
    return code == 0 ? 0 : 2;
  }
  if (functions->parsed()) {
    std::printf("%s", expr::catalogue_text().c_str());
    return 0;
  }
  options.sql = sql->parsed();
  if (!backend.empty()) options.replay.spill_space = backend_of(backend);
  return exit_code(run(options), options.strict);
}

}  // namespace
}  // namespace strand::conformance

int main(int count, char** arguments) {
  try {
    return strand::conformance::main_with(count, arguments);
  } catch (const std::exception& problem) {  // the JSON library's, on a case of another form
    std::fprintf(stderr, "STRAND-3001  a case has an unexpected form: %s\n", problem.what());
    return 2;
  }
}
