// conformance: replays recorded behaviour of Flink's operators and tells where the engine differs.
#include <cstdio>
#include <cstdlib>
#include <cstring>
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

constexpr const char* kUsage =
    "usage: conformance operators|sql DIR [--where key=value,...] [--strict] [--verbose]\n"
    "  operators  replays every case of the .jsonl and .jsonl.zst files in DIR\n"
    "  sql        plays every .case file below DIR: SQL text, input and output\n"
    "conformance functions: prints docs/sql/functions.md\n"
    "  --where    only cases with these values: family=window,assigner=tumbling,trigger=default;\n"
    "             of SQL: topic=window_tvf,case=hop\n"
    "  --batch N  operators: hands over up to N elements at once, where one takes batches\n"
    "  --parallelism N  sql: of cases that do not say their own\n"
    "  --restore-each-step\n"
    "             operators: compares a run that is stopped and restored after each step with one that is "
    "not,\n"
    "             both keeping the floor; cases of parts without state are unsupported\n"
    "             sql: stops or crashes the job before each row and goes on from its savepoint or "
    "checkpoint\n"
    "  --backend hashmap|spill|rocksdb\n"
    "             sql: where state lives: in memory; nothing there for longer than a batch; the same, in "
    "RocksDB\n"
    "  --strict   unsupported cases count as failed\n"
    "  --verbose, -v  says what differs, and why a case is not supported\n";

struct Options {
  bool sql = false;
  std::string folder;
  std::string where;
  ReplayOptions replay;
  std::optional<int> parallelism;
  state::MakeSpillSpace spill_space;
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
                         options.replay.restore_each_step, options.spill_space}));
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

Result<Options> parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string argument = arguments[i];
    if (argument == "--strict") {
      options.strict = true;
    } else if (argument == "--verbose" || argument == "-v") {
      options.verbose = true;
    } else if (argument == "--restore-each-step") {
      options.replay.restore_each_step = true;
    } else if (argument == "--batch" && i + 1 < count) {
      options.replay.batch_rows = std::strtoull(arguments[++i], nullptr, 10);
      if (options.replay.batch_rows == 0)
        return Status(ErrorCode::kBadUsage, "--batch: expected a number above 0");
    } else if (argument == "--parallelism" && i + 1 < count) {
      options.parallelism = std::atoi(arguments[++i]);
      if (*options.parallelism < 1)
        return Status(ErrorCode::kBadUsage, "--parallelism: expected a number above 0");
    } else if (argument == "--backend" && i + 1 < count) {
      STRAND_TRY(options.spill_space, backend_of(arguments[++i]));
    } else if (argument == "--where" && i + 1 < count) {
      options.where = arguments[++i];
    } else if (i == 1 && (argument == "operators" || argument == "sql")) {
      options.sql = argument == "sql";
    } else if (i == 2 && !argument.starts_with("-")) {
      options.folder = argument;
    } else {
      return Status(ErrorCode::kBadUsage, "unexpected argument `" + argument + "`");
    }
  }
  if (options.folder.empty()) return Status(ErrorCode::kBadUsage, "expected `operators DIR` or `sql DIR`");
  return options;
}

int main_with(int count, char** arguments) {
  if (count > 1 && std::strcmp(arguments[1], "--help") == 0) {
    std::printf("%s", kUsage);
    return 0;
  }
  if (count > 1 && std::strcmp(arguments[1], "functions") == 0) {
    std::printf("%s", expr::catalogue_text().c_str());
    return 0;
  }
  const Result<Options> options = parse(count, arguments);
  if (!options.ok()) {
    std::fprintf(stderr, "%s\n%s", options.status().to_string().c_str(), kUsage);
    return 2;
  }
  const Result<Tally> tally = run(*options);
  if (!tally.ok()) {
    std::fprintf(stderr, "%s\n", tally.status().to_string().c_str());
    return 2;
  }
  const bool nothing_run = tally->passed + tally->failed + tally->unsupported == 0;
  if (nothing_run) std::fprintf(stderr, "no case matches\n");
  return nothing_run || tally->failed > 0 || (options->strict && tally->unsupported > 0) ? 1 : 0;
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
