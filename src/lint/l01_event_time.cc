#include "lint/rules.h"

namespace strand::lint {

namespace {

bool calls(const expr::Expr& e, const std::string& function) {
  if (e.kind == expr::Expr::Kind::kCall && e.function == function) return true;
  for (const expr::ExprPtr& arg : e.args) {
    if (calls(*arg, function)) return true;
  }
  return false;
}

bool is_window(const plan::Node& node) { return std::holds_alternative<plan::WindowAggregate>(node.detail); }

/// A clamp from above: LEAST(…, the time of arrival).
void check_scan(const plan::Plan& plan, const plan::Node& node, const plan::Scan& scan,
                std::vector<Finding>& found) {
  if (!scan.watermark || calls(*scan.project[scan.watermark->time_column], "LEAST")) return;
  bool windowed = false;
  for (const plan::NodePtr& reader : plan.nodes()) {
    windowed = windowed || (is_window(*reader) && any_above(reader->inputs[0], [&](const plan::Input& input) {
                              return input.node.get() == &node;
                            }));
  }
  if (!windowed) return;
  const bool guarded = setting_millis(plan, "strand.future-skew.max", "10 min") > 0;
  const std::string time = (*node.output)[scan.watermark->time_column].name;
  Finding finding = at(
      node, "event time '" + time + "' of " + scan.table.name + " is not clamped to the time of arrival",
      guarded
          ? "a record with a clock in the future does not move the watermark (strand.future-skew.max), but "
            "opens windows that close in the future"
          : "one record with a clock in the future closes all windows: everything after it is late",
      "write " + time + " AS TO_TIMESTAMP_LTZ(LEAST(device_ms, arrival_ms), 3)");
  if (guarded) finding.severity = Severity::kNote;
  found.push_back(std::move(finding));
}

}  // namespace

void event_time(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    if (const auto* scan = std::get_if<plan::Scan>(&node->detail)) check_scan(plan, *node, *scan, found);
    const auto* window = std::get_if<plan::WindowAggregate>(&node->detail);
    if (window == nullptr || node->inputs[0].node->rowtime == window->time_column) continue;
    found.push_back(
        at(*node, "the window is not on the event time of its input",
           "its rows are assigned by one time and closed by another: some come out late, some never",
           "use the column of WATERMARK FOR, passed on unchanged"));
  }
}

}  // namespace strand::lint
