#include "engine/check.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "engine/reports/text.h"

namespace strand::engine {

namespace {

using Json = nlohmann::ordered_json;

int64_t warnings_of(const CheckReport& report) {
  return static_cast<int64_t>(report.warnings.size()) +
         std::count_if(report.findings.begin(), report.findings.end(), [](const lint::Finding& finding) {
           return finding.severity == lint::Severity::kWarning;
         });
}

Json to_json(const char* severity, const Status& status) {
  return {{"severity", severity},
          {"code", static_cast<int>(status.code())},
          {"where", status.where()},
          {"message", status.message()},
          {"hint", status.hint()}};
}

Json to_json(const lint::Finding& finding) {
  return {{"severity", finding.severity == lint::Severity::kWarning ? "warning" : "note"},
          {"code", finding.number},
          {"rule", finding.rule},
          {"operator", finding.node},
          {"where", finding.where},
          {"message", finding.message},
          {"explanation", finding.explanation},
          {"hint", finding.rewrite}};
}

}  // namespace

bool CheckReport::clean() const { return error.ok() && warnings_of(*this) == 0; }

CheckReport check_job(const Result<sql::CompiledJob>& compiled) {
  CheckReport report;
  if (!compiled.ok()) {
    report.error = compiled.status();
    return report;
  }
  report.warnings = compiled->warnings;
  report.notes = compiled->notes;
  report.findings = lint::lint(compiled->plan);
  return report;
}

std::vector<lint::Finding> flink_findings(const sql::SqlInput& input) {
  std::vector<lint::Finding> findings;
  for (const sql::FlinkFinding& each : sql::for_flink(input)) {
    const int rule = each.number % 100;
    const bool note = each.kind == sql::FlinkFinding::Kind::kRestart;
    findings.push_back({.number = each.number,
                        .rule = (rule < 10 ? "F0" : "F") + std::to_string(rule),
                        .severity = note ? lint::Severity::kNote : lint::Severity::kWarning,
                        .node = {},
                        .where = each.where,
                        .message = each.message,
                        .explanation = each.explanation,
                        .rewrite = each.portable});
  }
  return findings;
}

std::string check_text(const CheckReport& report) {
  std::string out;
  if (!report.error.ok()) out += report.error.to_string() + "\n";
  for (const Status& warning : report.warnings) out += "warning " + warning.to_string() + "\n";
  for (const lint::Finding& finding : report.findings) out += finding.to_string() + "\n";
  for (const std::string& note : report.notes) out += "note " + note + "\n";
  out += reports::plural(report.error.ok() ? 0 : 1, "error", "errors") + ", " +
         reports::plural(warnings_of(report), "warning", "warnings") + "\n";
  return out;
}

std::string check_json(const CheckReport& report) {
  Json json;
  json["clean"] = report.clean();
  json["findings"] = Json::array();
  if (!report.error.ok()) json["findings"].push_back(to_json("error", report.error));
  for (const Status& warning : report.warnings) json["findings"].push_back(to_json("warning", warning));
  for (const lint::Finding& finding : report.findings) json["findings"].push_back(to_json(finding));
  json["notes"] = report.notes;
  return json.dump(2) + "\n";
}

}  // namespace strand::engine
