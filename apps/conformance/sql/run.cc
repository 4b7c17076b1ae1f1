#include "conformance/sql/run.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>

#include "conformance/sql/eval.h"
#include "conformance/sql/judge.h"

namespace strand::conformance::sql {
namespace {

struct Filter {
  std::string topic;
  std::string name;
  bool matches(const Case& test_case) const {
    return (topic.empty() || topic == test_case.topic) && (name.empty() || name == test_case.name);
  }
};

Result<Filter> parse_filter(const std::string& where) {
  Filter filter;
  std::istringstream parts(where);
  for (std::string part; std::getline(parts, part, ',');) {
    const size_t equals = part.find('=');
    const std::string key = part.substr(0, equals);
    if (equals == std::string::npos || (key != "topic" && key != "case")) {
      return Status(ErrorCode::kBadUsage, "--where: expected topic=… or case=…, found `" + part + "`");
    }
    (key == "topic" ? filter.topic : filter.name) = part.substr(equals + 1);
  }
  return filter;
}

/// A job that is restored knows no watermark of a table until that table's next row (replay.md T7): where
/// several tables are read, results come later, the same ones.
bool comes_by_line(const std::vector<InputLine>& input, const RunOptions& options) {
  return !options.restore_each_step ||
         std::ranges::all_of(input, [&](const InputLine& line) { return line.table == input[0].table; });
}

Verdict judge_sink(const Case& test_case, const Section& section, const Played& played, bool by_line) {
  const Received* received = played.result();
  if (section.arguments.size() > 1) {
    const auto found = played.stage->received().find(section.arguments[1]);
    received = found == played.stage->received().end() ? nullptr : &found->second;
  }
  if (received == nullptr) return failed("nothing was written to " + section.arguments.back());
  if (std::string differs = columns_differ(section, *received->schema); !differs.empty())
    return failed(differs);
  return failed(difference(test_case, section, *received, by_line));
}

Verdict judge_query(const Case& test_case, const RunOptions& options) {
  Result<std::vector<InputLine>> input = input_of(test_case, options.folder);
  if (!input.ok()) return failed(input.status().to_string());
  const std::string text = test_case.text("setup") + test_case.text("query");
  const int parallelism =
      std::stoi(test_case.option("parallelism", std::to_string(options.parallelism.value_or(1))));
  const Played played = play(text, *input, {parallelism, options.restore_each_step, options.spill_space});
  Verdict verdict;
  bool refused = false;
  for (const Section& section : test_case.sections) {
    if (section.name != "expect" || section.arguments.empty() || !verdict.problem.empty()) continue;
    if (section.arguments[0] == "error") {
      refused = true;
      verdict = failed(refusal_differs(test_case, section, played));
    } else if (section.arguments[0] == "text") {
      if (played.shown != section.text())
        verdict = failed("expected\n" + section.text() + "found\n" + played.shown);
    } else if (played.error.ok() || played.started) {
      verdict = judge_sink(test_case, section, played, comes_by_line(*input, options));
    }
  }
  const bool not_supported = !played.error.ok() && is_not_supported(played.error);
  if (not_supported && (!refused || !verdict.problem.empty())) return unsupported(played.error.to_string());
  if (!refused && !played.error.ok()) return failed(played.error.to_string());
  return verdict;
}

/// The same tables must come of the lines, however many come at once.
Verdict judge_batches(const Case& test_case, const RunOptions& options) {
  Result<std::vector<InputLine>> input = input_of(test_case, options.folder);
  if (!input.ok()) return failed(input.status().to_string());
  const std::string text = test_case.text("setup") + test_case.text("query");
  PlayOptions play_options{.parallelism = std::stoi(test_case.option(
                               "parallelism", std::to_string(options.parallelism.value_or(1)))),
                           .spill_space = options.spill_space,
                           .batch_rows = options.batch_rows,
                           .one_by_one = true};
  const Played single = play(text, *input, play_options);
  play_options.one_by_one = false;
  const Played batches = play(text, *input, play_options);
  const auto code = [](const Played& played) {
    return played.error.ok() ? std::string("none") : std::to_string(static_cast<int>(played.error.code()));
  };
  if (code(single) != code(batches))
    return failed("one by one: error " + code(single) + ", in batches: " + code(batches));
  if (!single.error.ok()) return Verdict();
  for (const auto& [table, received] : single.stage->received()) {
    const std::string differs = tables_differ(received, batches.stage->received()[table]);
    if (!differs.empty()) return failed("table " + table + ": " + differs);
  }
  return Verdict();
}

/// Flink's answer is a mistake: ours must be another one.
Verdict judge_defect(Verdict verdict) {
  if (verdict.unsupported) return verdict;
  return verdict.problem.empty() ? failed("the answer is the one that is recorded as a defect") : Verdict();
}

void count(const Case& test_case, const std::string& what, const Verdict& verdict, bool verbose,
           Counts& counts) {
  const char* name = verdict.problem.empty() ? "passed" : verdict.unsupported ? "unsupported" : "failed";
  ++(verdict.problem.empty() ? counts.passed : verdict.unsupported ? counts.unsupported : counts.failed);
  if (!verbose || verdict.problem.empty()) return;
  std::printf("%s %s/%s%s: %s\n", name, test_case.topic.c_str(), test_case.name.c_str(), what.c_str(),
              verdict.problem.c_str());
  std::fflush(stdout);
}

void run_case(const Case& test_case, const RunOptions& options, Counts& counts) {
  if (options.batch_rows > 1) {
    if (test_case.section("query") != nullptr)
      count(test_case, "", judge_batches(test_case, options), options.verbose, counts);
    return;
  }
  if (test_case.section("eval") != nullptr) {
    for (const auto& [expression, verdict] : judge_evals(test_case, options.folder)) {
      count(test_case, " " + expression, verdict, options.verbose, counts);
    }
    return;
  }
  Verdict verdict = judge_query(test_case, options);
  if (test_case.header.contains("defect")) verdict = judge_defect(std::move(verdict));
  count(test_case, "", verdict, options.verbose, counts);
}

void print(const std::string& name, const Counts& counts) {
  std::printf("%s%d passed, %d failed, %d unsupported\n", name.c_str(), counts.passed, counts.failed,
              counts.unsupported);
}

}  // namespace

bool is_not_supported(const Status& error) { return error.code() == ErrorCode::kUnsupportedSql; }

Result<Counts> run(const RunOptions& options) {
  STRAND_TRY(const Filter filter, parse_filter(options.where));
  STRAND_TRY(const std::vector<Case> cases, read_cases(options.folder));
  std::map<std::string, Counts> topics;
  for (const Case& test_case : cases) {
    if (filter.matches(test_case)) run_case(test_case, options, topics[test_case.topic]);
  }
  Counts all;
  for (const auto& [topic, counts] : topics) {
    print(topic + ": ", counts);
    all.passed += counts.passed;
    all.failed += counts.failed;
    all.unsupported += counts.unsupported;
  }
  print("", all);
  return all;
}

}  // namespace strand::conformance::sql
