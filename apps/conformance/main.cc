// conformance: replays recorded behaviour of Flink's operators and tells where the engine differs.
#include <cstdio>
#include <cstring>
#include <map>
#include <string>

#include "conformance/compare.h"
#include "conformance/corpus.h"
#include "conformance/family.h"
#include "conformance/sql/run.h"

namespace strand::conformance {
namespace {

constexpr const char* kUsage =
    "usage: conformance operators|sql DIR [--where key=value,...] [--strict] [--verbose]\n"
    "  operators  replays every case of the .jsonl and .jsonl.zst files in DIR\n"
    "  sql        plays every .case file below DIR: SQL text, input and output\n"
    "  --where    only cases with these values: family=window,assigner=tumbling,trigger=default;\n"
    "             of SQL: topic=window_tvf,case=hop\n"
    "  --strict   unsupported cases count as failed\n"
    "  --verbose, -v  says what differs, and why a case is not supported\n";

struct Options {
  bool sql = false;
  std::string folder;
  std::string where;
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

/// Empty if the case passes, else the step and what differs there.
std::string replay(Family& family, const Json& test_case) {
  const Json& steps = test_case.at("steps");
  const Json& expected = test_case.at("expected");
  if (!family.refused.ok()) {
    const bool foreseen = !expected.empty() && expected.at(0).contains("error");
    return foreseen ? "" : "refused: " + family.refused.to_string();
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    const std::string place = "step " + std::to_string(i) + " " + steps.at(i).dump() + ": ";
    const Result<Json> actual = family.replay->step(steps.at(i));
    if (expected.at(i).contains("error")) {
      return actual.ok() ? place + "expected an error, found " + (*actual).dump() : "";
    }
    if (!actual.ok()) return place + actual.status().to_string();
    const std::string differs = difference(family.comparison, expected.at(i), *actual);
    if (!differs.empty()) return place + differs;
  }
  return "";
}

void run_case(const Json& test_case, bool verbose, Tally& tally) {
  const std::string id = text(test_case, "id");
  Family family = make_family(text(test_case, "family"), test_case.at("config"));
  if (!family.unsupported.empty()) {
    ++tally.unsupported;
    if (verbose) std::printf("unsupported %s: %s\n", id.c_str(), family.unsupported.c_str());
    return;
  }
  const std::string problem = replay(family, test_case);
  ++(problem.empty() ? tally.passed : tally.failed);
  if (verbose && !problem.empty()) std::printf("failed %s: %s\n", id.c_str(), problem.c_str());
}

void print(const std::string& name, const Tally& tally) {
  std::printf("%s%d passed, %d failed, %d unsupported\n", name.c_str(), tally.passed, tally.failed,
              tally.unsupported);
}

Result<Tally> run(const Options& options) {
  if (options.sql) {
    STRAND_TRY(const sql::Counts counts, sql::run({options.folder, options.where, options.verbose}));
    return Tally{counts.passed, counts.failed, counts.unsupported};
  }
  STRAND_TRY(const Where where, Where::parse(options.where));
  STRAND_TRY(const std::vector<std::string> files, case_files(options.folder));
  std::map<std::string, Tally> families;
  for (const std::string& file : files) {
    STRAND_TRY(const std::vector<Json> cases, read_cases(file));
    for (const Json& test_case : cases) {
      if (where.matches(test_case)) {
        run_case(test_case, options.verbose, families[text(test_case, "family")]);
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
