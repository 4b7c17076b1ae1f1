#include "conformance/replay_case.h"

#include <algorithm>
#include <vector>

#include "conformance/compare.h"

namespace strand::conformance {
namespace {

std::string place_of(size_t i, const Json& step) {
  return "step " + std::to_string(i) + " " + step.dump() + ": ";
}

/// Empty if the record foresaw that the configuration is refused.
std::string refusal_differs(const Family& family, const Json& expected) {
  const bool foreseen = !expected.empty() && expected.at(0).contains("error");
  return foreseen ? "" : "refused: " + family.refused.to_string();
}

std::string outcome_differs(Comparison comparison, const Json& expected, const Result<Json>& actual) {
  if (expected.contains("error")) return actual.ok() ? "expected an error, found " + (*actual).dump() : "";
  return actual.ok() ? difference(comparison, expected, *actual) : actual.status().to_string();
}

/// The number of steps from `first` on that can go to the operator at once: elements of one input, none of
/// which fails.
size_t run_length(const Json& steps, const Json& expected, size_t first, size_t most) {
  const auto fits = [&](size_t i) {
    return text(steps.at(i), "op") == "element" && !expected.at(i).contains("error") &&
           number(steps.at(i), "input", 1) == number(steps.at(first), "input", 1);
  };
  size_t end = first;
  while (end < expected.size() && end - first < most && fits(end)) ++end;
  return std::max<size_t>(end - first, 1);
}

/// What `count` steps do together: lists one behind the other, of the rest what was last.
Json together(const Json& expected, size_t first, size_t count) {
  Json all = expected.at(first);
  for (size_t i = first + 1; i < first + count; ++i) {
    for (const auto& [name, value] : expected.at(i).items()) {
      const bool list = name == "out" || name.starts_with("late") || name == "wm" || name == "status";
      if (!list || !all.contains(name)) {
        all[name] = value;
      } else {
        all[name].insert(all[name].end(), value.begin(), value.end());
      }
    }
  }
  return all;
}

std::string recorded_differs(Family& family, const Json& test_case, size_t batch_rows) {
  const Json& steps = test_case.at("steps");
  const Json& expected = test_case.at("expected");
  if (!family.refused.ok()) return refusal_differs(family, expected);
  const size_t most = family.replay->takes_batches() ? batch_rows : 1;
  for (size_t i = 0; i < expected.size();) {
    const size_t count = most > 1 ? run_length(steps, expected, i, most) : 1;
    const std::vector<Json> run(steps.begin() + static_cast<ptrdiff_t>(i),
                                steps.begin() + static_cast<ptrdiff_t>(i + count));
    const Result<Json> actual = count > 1 ? family.replay->elements(run) : family.replay->step(run.front());
    const std::string differs = outcome_differs(family.comparison, together(expected, i, count), actual);
    if (!differs.empty()) return place_of(i, run.back()) + differs;
    i += count;
  }
  return "";
}

/// Leaves out what a restore may change: the watermark that rows show, and what is told again of the inputs.
void leave_out_watermarks(const Json& test_case, Json& did) {
  did.erase("wm");
  did.erase("status");
  if (!did.contains("out")) return;
  const bool stateful = text(test_case.at("config").value("function", Json::object()), "type") == "stateful";
  for (Json& record : did["out"]) {
    Json& value = record["v"];
    const std::string kind =
        value.is_array() && value.at(0).is_string() ? value.at(0).get<std::string>() : "";
    if (kind == "ctx") value.at(3) = nullptr;
    if (kind == "timer" || kind == "all") value.at(4) = nullptr;
    if (stateful) value.at(6) = nullptr;
  }
}

/// A count since the last restore becomes the count of one step.
void count_of_step(const Json& step, int64_t& before, Json& did) {
  if (!did.contains("dropped")) return;
  const int64_t total = did["dropped"].get<int64_t>();
  did["dropped"] = text(step, "op") == "restore" ? 0 : total - before;
  before = total;
}

Status stop_and_restore(Replay& replay) {
  STRAND_TRY(const Json snapshot, replay.step({{"op", "snapshot"}, {"id", -1}}));
  STRAND_TRY(const Json restore, replay.step({{"op", "restore"}, {"id", -1}, {"keeps_inputs", true}}));
  return snapshot.contains("out") || restore.contains("out")
             ? Status(ErrorCode::kInternal, "a restore emits " + snapshot.dump() + restore.dump())
             : Status();
}

/// Taking a snapshot drops what has expired by the wall clock; without it, that is there to be seen a while
/// longer.
bool snapshots_show(const Json& config) {
  return flag(config.value("ttl", Json::object()), "cleanup_full_snapshot");
}

std::string restored_differs(Family& straight, Family& stopped, const Json& test_case) {
  if (!straight.refused.ok()) return "";
  int64_t dropped = 0;
  size_t i = 0;
  for (const Json& step : test_case.at("steps")) {
    const Result<Json> want = straight.replay->step(step);
    const Result<Json> found = stopped.replay->step(step);
    if (want.ok() != found.ok()) return place_of(i, step) + (want.ok() ? found : want).status().to_string();
    if (!want.ok()) return "";
    Json expected = *want;
    Json actual = *found;
    count_of_step(step, dropped, expected);
    if (text(step, "op") == "restore" && actual.contains("dropped")) actual["dropped"] = 0;
    for (Json* did : {&expected, &actual}) leave_out_watermarks(test_case, *did);
    std::string differs = difference(straight.comparison, expected, actual);
    if (differs.empty() && expected.value("timers", Json()) != actual.value("timers", Json()))
      differs = "timers: expected " + expected["timers"].dump() + ", found " + actual["timers"].dump();
    if (!differs.empty()) return place_of(i, step) + differs;
    const Status restored = stop_and_restore(*stopped.replay);
    if (!restored.ok()) return place_of(i, step) + restored.to_string();
    ++i;
  }
  return "";
}

}  // namespace

Outcome replay_case(const Json& test_case, const ReplayOptions& options) {
  Json config = test_case.at("config");
  if (options.restore_each_step) config[kFlinkRestore] = false;
  const std::string name = text(test_case, "family");
  Family family = make_family(name, config, options.spill_space);
  if (!family.unsupported.empty()) return {Verdict::kUnsupported, family.unsupported};
  std::string why;
  if (!options.restore_each_step) {
    why = recorded_differs(family, test_case, options.batch_rows);
  } else if (family.restorable && !snapshots_show(config)) {
    Family stopped = make_family(name, config, options.spill_space);
    why = restored_differs(family, stopped, test_case);
  } else {
    return {Verdict::kUnsupported, "nothing to restore, or snapshots show"};
  }
  return {why.empty() ? Verdict::kPassed : Verdict::kFailed, why};
}

}  // namespace strand::conformance
