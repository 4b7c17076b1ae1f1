#include "plan/ends.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "plan/stored_place.h"

namespace strand::plan {

namespace {

/// Brokers come and go, the topic stays. Nothing: rows that are shown and forgotten.
std::string lasting_place(const TableSpec& table) {
  const std::string connector = table.option("connector");
  if (connector == "print" || connector == "blackhole") return {};
  if (connector == "kafka" || connector == "upsert-kafka") return "kafka " + table.option("topic");
  // A folder is moved whole, with the job's state and its tables: the last name stays.
  if (connector == "sqlite" || connector == "filesystem") {
    std::string path = table.option("path");
    while (path.size() > 1 && path.ends_with('/')) path.pop_back();
    path.erase(0, path.rfind('/') + 1);
    return connector + " " + path +
           (connector == "sqlite" ? " " + table.option("table-name", table.name) : "");
  }
  std::string text = stored_place(table);
  std::ranges::replace(text, '\n', ' ');
  return text;
}

}  // namespace

std::map<std::string, std::string> ends_of(const Plan& plan) {
  std::map<std::string, std::string> ends;
  for (const NodePtr& node : plan.nodes()) {
    if (const auto* scan = std::get_if<Scan>(&node->detail); scan != nullptr && scan->watermark) {
      const WatermarkSpec& watermark = *scan->watermark;
      ends[node->id] =
          "watermark " + (watermark.expression ? expr::to_string(*watermark.expression, node->output.get())
                                               : "of " + (*node->output)[watermark.time_column].name);
    }
    const auto* sink = std::get_if<SinkWrite>(&node->detail);
    if (sink == nullptr) continue;
    std::string text = lasting_place(sink->table);
    if (text.empty()) continue;
    for (const std::string& key : sink->table.primary_key)
      text += (key == sink->table.primary_key[0] ? ", key " : ", ") + key;
    ends[node->id] = "table " + text;
  }
  return ends;
}

std::vector<std::string> end_differences(const std::string& snapshot, const Plan& plan) {
  const auto parsed = nlohmann::json::parse(snapshot, nullptr, /*allow_exceptions=*/false);
  std::vector<std::string> differences;
  if (!parsed.is_object() || !parsed.contains("ends")) return differences;
  const std::map<std::string, std::string> now = ends_of(plan);
  for (const auto& [id, before] : parsed["ends"].items()) {
    const auto found = now.find(id);
    if (found == now.end() || !before.is_string() || before.get<std::string>() == found->second) continue;
    differences.push_back(id + ": " + before.get<std::string>() + "; now " + found->second);
  }
  return differences;
}

}  // namespace strand::plan
