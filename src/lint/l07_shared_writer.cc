#include <map>

#include "lint/rules.h"
#include "plan/stored_place.h"

namespace strand::lint {

void shared_writer(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  std::map<std::pair<std::string, std::string>, const plan::Node*> writers;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* sink = std::get_if<plan::SinkWrite>(&node->detail);
    if (sink == nullptr || is_for_eyes(sink->table)) continue;
    const auto [other, fresh] =
        writers.emplace(std::pair(plan::stored_place(sink->table), sink->writer), node.get());
    if (fresh) continue;
    found.push_back(at(*node,
                       "writer '" + sink->writer + "' writes the same table as " + other->second->id + " (" +
                           other->second->where + ")",
                       "after a restart each of them removes what the other has written since the checkpoint",
                       "declare the table once, or name one of them: INSERT INTO t /*+ "
                       "OPTIONS('strand.writer' = 'name') */"));
  }
}

}  // namespace strand::lint
