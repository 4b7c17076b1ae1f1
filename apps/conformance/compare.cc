#include "conformance/compare.h"

#include <algorithm>
#include <vector>

namespace strand::conformance {
namespace {

/// Records of equal subtask and timer, in groups by firing.
struct Run {
  Json key;
  std::vector<Json> groups;
};

Json values(const Json& record) { return Json{{"v", record.at("v")}, {"ts", record.value("ts", Json())}}; }

std::vector<Run> timer_runs(const Json& out) {
  std::vector<Run> runs;
  Json last_firing;
  for (const Json& record : out) {
    const Json key{record.value("subtask", Json()), record.value("event_timer", Json()),
                   record.value("processing_timer", Json())};
    const Json firing = record.value("firing", Json());
    const bool new_run = runs.empty() || runs.back().key != key;
    if (new_run) runs.push_back({key, {}});
    if (new_run || firing != last_firing) runs.back().groups.push_back(Json::array());
    runs.back().groups.back().push_back(values(record));
    last_firing = firing;
  }
  for (Run& run : runs) std::sort(run.groups.begin(), run.groups.end());
  return runs;
}

std::string timers_differ(const Json& expected, const Json& actual) {
  const auto want = timer_runs(expected);
  const auto found = timer_runs(actual);
  const bool equal =
      std::equal(want.begin(), want.end(), found.begin(), found.end(),
                 [](const Run& a, const Run& b) { return a.key == b.key && a.groups == b.groups; });
  return equal ? "" : "out: expected " + expected.dump() + ", found " + actual.dump();
}

/// Rows [kind, key, start, end, ...] by window end and, inside a window, in any order.
std::string rows_differ(const Json& expected, const Json& actual) {
  const auto sorted = [](const Json& out) {
    std::vector<std::pair<Json, Json>> rows;
    for (const Json& record : out) rows.emplace_back(record.at("v").at(3), record.at("v"));
    std::sort(rows.begin(), rows.end());
    return rows;
  };
  return sorted(expected) == sorted(actual) ? ""
                                            : "out: expected " + expected.dump() + ", found " + actual.dump();
}

/// Rows in any order, or only of different keys (second in [kind, key, ...]) in any order.
std::string values_differ(const Json& expected, const Json& actual, bool keep_order_of_key) {
  const auto sorted = [&](const Json& out) {
    std::vector<Json> rows;
    for (const Json& record : out) rows.push_back(record.at("v"));
    if (keep_order_of_key) {
      std::ranges::stable_sort(rows, {}, [](const Json& row) { return row.at(1); });
    } else {
      std::ranges::sort(rows);
    }
    return rows;
  };
  return sorted(expected) == sorted(actual) ? ""
                                            : "out: expected " + expected.dump() + ", found " + actual.dump();
}

std::string late_differs(const char* name, const Json& expected, const Json& actual) {
  const auto records = [&](const Json& step) {
    std::vector<Json> list;
    for (const Json& record : step.value(name, Json::array())) list.push_back(values(record));
    return list;
  };
  if (records(expected) == records(actual)) return "";
  return std::string(name) + ": expected " + expected.value(name, Json()).dump() + ", found " +
         actual.value(name, Json()).dump();
}

std::string field_differs(const char* name, const Json& expected, const Json& actual) {
  if (expected.value(name, Json()) == actual.value(name, Json())) return "";
  return std::string(name) + ": expected " + expected.value(name, Json()).dump() + ", found " +
         actual.value(name, Json()).dump();
}

bool nothing_left(const Json& step) {
  return step.contains("timers") && step.at("timers") == Json{0, 0} && step.value("entries", 1) == 0;
}

std::string leftover(const Json& expected, const Json& actual) {
  if (!nothing_left(expected) || !actual.contains("timers") || nothing_left(actual)) return "";
  return "left over: expected nothing, found timers " + actual.at("timers").dump() + " and " +
         actual.at("entries").dump() + " entries";
}

}  // namespace

std::string difference(Comparison comparison, const Json& expected, const Json& actual) {
  if (comparison == Comparison::kEvents) {
    return expected == actual ? "" : "expected " + expected.dump() + ", found " + actual.dump();
  }
  const Json none = Json::array();
  const Json want = expected.value("out", none);
  const Json found = actual.value("out", none);
  std::string differs = comparison == Comparison::kRows ? rows_differ(want, found)
                        : comparison == Comparison::kTimers
                            ? timers_differ(want, found)
                            : values_differ(want, found, comparison == Comparison::kByKey);
  for (const char* name : {"late", "late_left", "late_right"}) {
    if (differs.empty()) differs = late_differs(name, expected, actual);
  }
  for (const char* name : {"wm", "status", "dropped"}) {
    if (differs.empty()) differs = field_differs(name, expected, actual);
  }
  return differs.empty() ? leftover(expected, actual) : differs;
}

}  // namespace strand::conformance
