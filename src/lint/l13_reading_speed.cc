#include "lint/rules.h"

namespace strand::lint {

/// Processing time that rows are counted by: the rows of a replay come faster than those of the first run.
void reading_speed(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* read = std::get_if<plan::ReadTime>(&node->detail);
    if (read == nullptr) continue;
    const std::string& time = (*node->output)[read->time_column].name;
    found.push_back(at(*node, "'" + time + "' is processing time: results depend on how fast rows are read",
                       "after a restart or a pause, and in a recount, the same rows count in other windows",
                       "where results must be the same again, take an event time: declare WATERMARK FOR"));
    found.back().severity = Severity::kNote;
  }
}

}  // namespace strand::lint
