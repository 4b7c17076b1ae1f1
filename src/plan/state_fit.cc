#include "plan/state_fit.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/stored_type.h"
#include "plan/plan.h"

namespace strand::plan {

namespace {

using nlohmann::json;
using Fate = OperatorFit::Fate;

/// Text of a JSON value for people: lists and words without quotes and brackets.
std::string plain(const json& value) {
  if (value.is_null()) return "nothing";
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array()) return value.dump();
  std::string text;
  for (const json& item : value) text += (text.empty() ? "" : ", ") + plain(item);
  return text.empty() ? "none" : text;
}

/// Whether state of a function, `value of T`, can be carried over.
bool carries_over(const json& before, const json& now) {
  if (!before.is_string() || !now.is_string()) return false;
  const auto split = [](const std::string& text) {
    const size_t of = text.find(" of ");
    return of == std::string::npos ? std::pair{text, std::string()}
                                   : std::pair{text.substr(0, of), text.substr(of + 4)};
  };
  const auto [old_kind, old_type] = split(before.get<std::string>());
  const auto [kind, type] = split(now.get<std::string>());
  return old_kind == kind && TypeChange::between(old_type, type).ok();
}

bool is_function_state(const std::string& name) { return name.starts_with("state ") || name == "contents"; }

/// Version 1 had no word for a GROUP BY that forgets by event time, version 2 none for a deduplication that
/// forgets by the wall clock.
bool was_not_told(int version, const std::string& kind, const std::string& name, const json& value) {
  if (name != "keys are forgotten") return false;
  return (version < 2 && value == "by event time") || (version < 3 && kind == "deduplicate");
}

std::string kind_of(const json& node) { return plain(node.contains("kind") ? node["kind"] : json()); }

json value_of(const json& node, const std::string& name) { return node.contains(name) ? node[name] : json(); }

/// What keeps the state of `before` from being that of `now`.
std::vector<std::string> differences_of(const json& before, const json& now, int version) {
  if (kind_of(before) != kind_of(now))
    return {"the snapshot holds a " + kind_of(before) + ", the plan has a " + kind_of(now)};
  json names = before;
  names.update(now);
  std::vector<std::string> differences;
  for (const auto& [name, unused] : names.items()) {
    const json old = value_of(before, name);
    const json value = value_of(now, name);
    if (old == value) continue;
    const bool one_is_missing = old.is_null() || value.is_null();
    if (is_function_state(name) && (one_is_missing || carries_over(old, value))) continue;
    if (old.is_null() && was_not_told(version, kind_of(now), name, value)) continue;
    differences.push_back(name + " of the snapshot: " + plain(old) + "; of the plan: " + plain(value));
  }
  return differences;
}

Result<json> parse_print(const std::string& text, const char* whose) {
  json print = json::parse(text, nullptr, /*allow_exceptions=*/false);
  const bool has_nodes = print.is_object() && print.contains("nodes") && print["nodes"].is_object();
  if (has_nodes && std::ranges::all_of(print["nodes"], [](const json& node) { return node.is_object(); }))
    return print;
  return Status(ErrorCode::kStateMismatch,
                std::string("the fingerprint of the ") + whose + " cannot be read");
}

}  // namespace

Result<std::vector<OperatorFit>> fit_state(const std::string& snapshot, const std::string& plan,
                                           const std::set<std::string>& may_drop) {
  STRAND_TRY(const json before, parse_print(snapshot, "snapshot"));
  STRAND_TRY(const json now, parse_print(plan, "plan"));
  const json version_text = value_of(before, "version");
  const int version = version_text.is_number_integer() ? version_text.get<int>() : 1;
  std::vector<OperatorFit> operators;
  for (const auto& [id, node] : before["nodes"].items()) {
    OperatorFit fit{id, kind_of(node)};
    if (now["nodes"].contains(id)) {
      fit.differences = differences_of(node, now["nodes"][id], version);
      if (!fit.differences.empty()) fit.fate = Fate::kChanged;
    } else if (may_drop.contains(id)) {
      fit.fate = Fate::kDropped;
    } else {
      fit.fate = Fate::kGone;
      fit.differences = {"the snapshot holds state of it, the plan has no such operator"};
    }
    operators.push_back(std::move(fit));
  }
  for (const auto& [id, node] : now["nodes"].items()) {
    if (!before["nodes"].contains(id)) operators.push_back({id, kind_of(node), Fate::kNew});
  }
  return operators;
}

std::vector<std::string> operators_without_state(const std::string& snapshot, const std::string& plan) {
  const auto operators = fit_state(snapshot, plan, {});
  std::vector<std::string> ids;
  if (!operators.ok()) return ids;
  for (const OperatorFit& fit : *operators) {
    if (fit.fate == Fate::kNew && !fit.is_end()) ids.push_back(fit.id);
  }
  return ids;
}

std::vector<std::string> fingerprint_differences(const std::string& snapshot, const std::string& plan,
                                                 const std::set<std::string>& may_drop) {
  const auto operators = fit_state(snapshot, plan, may_drop);
  if (!operators.ok()) return {operators.status().message()};
  std::vector<std::string> differences;
  for (const OperatorFit& fit : *operators) {
    for (const std::string& difference : fit.differences) differences.push_back(fit.id + ": " + difference);
  }
  return differences;
}

}  // namespace strand::plan
