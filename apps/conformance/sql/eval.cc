#include "conformance/sql/eval.h"

#include "conformance/sql/play.h"
#include "conformance/sql/values.h"

namespace strand::conformance::sql {
namespace {

/// One expression with its recorded answer: `= TYPE [values]` or `! kind exception: message`.
struct Eval {
  std::string expression;
  std::string answer;
  bool defect = false;
};

std::vector<Eval> evals_of(const Section& section) {
  std::vector<Eval> evals;
  bool defect = false;
  for (const std::string& line : section.lines) {
    if (line.starts_with("# defect")) defect = true;
    if (line.starts_with("> ")) evals.push_back({line.substr(2), "", std::exchange(defect, false)});
    if (!evals.empty() && (line.starts_with("= ") || line.starts_with("! "))) evals.back().answer = line;
  }
  return evals;
}

/// A constant expression is computed over one row of a table that has nothing to do with it.
constexpr const char* kOneRow = "CREATE TABLE one_row (unused INT) WITH ('connector' = 'script');\n";

std::string values_differ(const std::string& answer, const Received* received) {
  const size_t bracket = answer.find(" [");
  const std::string type = plain_type(answer.substr(2, bracket - 2));
  const columnar::Type& found_type = *(*received->schema)[0].type;
  const std::string found_name = plain_type(columnar::to_string(found_type));
  if (type != found_name) return "expected the type " + type + ", found " + found_name;
  const Json values = Json::parse(answer.substr(bracket + 1));
  Json found = Json::array();
  for (const OutputRow& row : received->rows) found.push_back(row.values.at(0));
  Json want = Json::array();
  for (const Json& value : values) want.push_back(normalized(value, found_type));
  return want == found ? "" : "expected " + want.dump() + ", found " + found.dump();
}

Verdict judge_recorded(const Eval& eval, const Played& played) {
  const bool not_supported = !played.error.ok() && is_not_supported(played.error);
  if (eval.answer.starts_with("! ")) {
    if (played.error.ok()) {
      const Received* result = played.result();
      const bool row = result != nullptr && !result->rows.empty();
      return failed("expected a failure, found " +
                    (row ? result->rows[0].values.dump() : std::string("no row")));
    }
    const bool runtime = eval.answer.starts_with("! runtime");
    if (not_supported && eval.answer.starts_with("! runtime")) return unsupported(played.error.to_string());
    if (runtime == played.started) return {};
    return failed(std::string("expected the failure ") + (runtime ? "after" : "before") +
                  " the start, found " + played.error.to_string());
  }
  if (not_supported) return unsupported(played.error.to_string());
  if (!played.error.ok()) return failed(played.error.to_string());
  if (played.result() == nullptr) return failed("no result");
  return failed(values_differ(eval.answer, played.result()));
}

/// Of a defect of Flink another answer is right.
Verdict judge_eval(const Eval& eval, const Played& played) {
  Verdict verdict = judge_recorded(eval, played);
  if (!eval.defect || verdict.unsupported) return verdict;
  return verdict.problem.empty() ? failed("the answer is the one that is recorded as a defect") : Verdict();
}

}  // namespace

std::vector<std::pair<std::string, Verdict>> judge_evals(const Case& test_case, const std::string& folder) {
  std::vector<std::pair<std::string, Verdict>> verdicts;
  const Result<std::vector<InputLine>> input = input_of(test_case, folder);
  for (const Section& section : test_case.sections) {
    if (section.name != "eval") continue;
    const bool over_table = !section.arguments.empty();
    const std::string from = over_table ? section.arguments[0] : "one_row";
    for (const Eval& eval : evals_of(section)) {
      const std::string text = test_case.text("setup") + (over_table ? "" : kOneRow) + "SELECT " +
                               eval.expression + " AS e FROM " + from + ";";
      const std::vector<InputLine> one = {{"one_row", "{}"}};
      verdicts.emplace_back(eval.expression, judge_eval(eval, play(text, over_table ? *input : one, {})));
    }
  }
  return verdicts;
}

}  // namespace strand::conformance::sql
