#include "lint/rules.h"

namespace strand::lint {

void no_checkpoints(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  if (setting_millis(plan, "execution.checkpointing.interval", "10 s") > 0) return;
  for (const plan::NodePtr& node : plan.sinks) {
    const auto& sink = std::get<plan::SinkWrite>(node->detail);
    if (is_for_eyes(sink.table)) continue;
    found.push_back(at(*node, "there are no checkpoints, and " + sink.table.name + " is written",
                       "every write carries the tag of the start: after a crash the whole table is flushed "
                       "and read again from "
                       "the beginning; rows that wait for a checkpoint never show",
                       "SET 'execution.checkpointing.interval' = '10 s'"));
    return;
  }
}

}  // namespace strand::lint
