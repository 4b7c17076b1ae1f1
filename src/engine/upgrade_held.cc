#include "engine/upgrade_held.h"

#include <algorithm>

#include "connect/table/epoch_rows.h"
#include "plan/ends.h"
#include "runtime/in_flight.h"
#include "runtime/tables.h"

namespace strand::engine {

namespace {

plan::NodePtr node_of(const plan::Plan& plan, const std::string& id) {
  for (const plan::NodePtr& node : plan.nodes()) {
    if (node->id == id) return node;
  }
  return nullptr;
}

/// The columns of all inputs, as a snapshot has them of rows in flight.
std::vector<std::string> inputs_of(const plan::NodePtr& node) {
  std::vector<std::string> inputs;
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    std::string text;
    for (const columnar::Field& field : node->input(i).fields())
      text += (text.empty() ? "" : ", ") + field.name + " " + columnar::to_string(*field.type);
    inputs.push_back(std::move(text));
  }
  return inputs;
}

bool has_section(const std::vector<checkpoint::OperatorPart>& parts,
                 const std::function<bool(std::string_view)>& is) {
  return std::ranges::any_of(parts, [&](const checkpoint::OperatorPart& part) {
    return std::ranges::any_of(part.sections, [&](const state::SectionRef& ref) { return is(ref.name); });
  });
}

/// Sinks in files and in stores with transactions.
bool is_uncommitted(std::string_view section) {
  return section.starts_with("epochs") || section == connect::table::kEpochRowsSection;
}

void check_in_flight(const Upgrade& upgrade, const std::string& id, UpgradeCheck& check) {
  const plan::NodePtr before = node_of(upgrade.before, id);
  const plan::NodePtr now = node_of(upgrade.now, id);
  const bool fits = now != nullptr && (before == nullptr || inputs_of(before) == inputs_of(now));
  check.held.push_back(id + ": rows on their way to it come to it first" +
                       (fits             ? ""
                        : now == nullptr ? ", and the job has it no longer"
                                         : ", and its input has other columns"));
  if (fits || !check.refused.ok()) return;
  check.refused = Status(ErrorCode::kStateMismatch,
                         "the snapshot has rows on their way to operator '" + id + "', which " +
                             (now == nullptr ? "the job has not" : "takes other columns now"))
                      .at(upgrade.snapshot_name)
                      .hint(
                          "stop the old form of the job with a savepoint, which has no rows in flight, and "
                          "start from that");
}

void check_uncommitted(const Upgrade& upgrade, const std::string& id, UpgradeCheck& check) {
  const auto before = plan::ends_of(upgrade.before);
  const auto now = plan::ends_of(upgrade.now);
  const auto there = now.find(id);
  const auto was = before.find(id);
  std::string text = id + ": rows that wait for their commit ";
  if (there == now.end()) {
    text += "are lost with it: stop the old form with a savepoint, which has none";
  } else if (was != before.end() && was->second != there->second) {
    text += "go to the new place (" + there->second + "): stop the old form with a savepoint, which has none";
  } else {
    text += "are written first";
  }
  check.held.push_back(std::move(text));
}

}  // namespace

void check_held_rows(const Upgrade& upgrade, UpgradeCheck& check) {
  for (const auto& [id, parts] : upgrade.snapshot.operators) {
    const auto in_flight = [](std::string_view name) { return name == runtime::kInFlightSection; };
    if (has_section(parts, in_flight)) check_in_flight(upgrade, id, check);
    if (has_section(parts, is_uncommitted)) check_uncommitted(upgrade, id, check);
  }
}

void ask_sinks(const Upgrade& upgrade, const connect::Registry& registry, env::Env env, UpgradeCheck& check) {
  const runtime::Tables tables(registry, {check.job, "UTC", env});
  flow::SinkStart start;
  start.job = check.job;
  start.parallelism = upgrade.snapshot.parallelism;
  start.max_parallelism = upgrade.snapshot.max_parallelism;
  start.generation = upgrade.snapshot.generation;
  // Newer than whoever has written: whether it runs still is not asked here.
  start.attempt = Attempt{INT64_MAX / 2};
  start.restored = upgrade.snapshot.epoch;
  for (const plan::NodePtr& node : upgrade.now.sinks) {
    const auto& write = std::get<plan::SinkWrite>(node->detail);
    const auto sink = tables.sink(write);
    Status answer = sink.ok() ? (*sink)->check(start) : sink.status();
    const bool refuses = !answer.ok() && answer.reaction() == Reaction::kFailJob;
    if (!answer.ok()) check.held.push_back(node->id + ": " + write.table.name + " says: " + answer.message());
    if (refuses && check.refused.ok()) check.refused = std::move(answer);
  }
}

}  // namespace strand::engine
