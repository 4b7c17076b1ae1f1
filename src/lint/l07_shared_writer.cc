#include <map>

#include "lint/rules.h"

namespace strand::lint {

namespace {

/// What names the table in its store, whatever the job calls it.
std::string place_of(const plan::TableSpec& table) {
  std::string place;
  for (const char* key :
       {"connector", "path", "url", "table-name", "topic", "properties.bootstrap.servers", "aws.region"}) {
    place += table.option(key) + "\n";
  }
  return place;
}

}  // namespace

void shared_writer(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  std::map<std::string, const plan::Node*> writers;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* sink = std::get_if<plan::SinkWrite>(&node->detail);
    if (sink == nullptr || is_for_eyes(sink->table)) continue;
    const auto [other, fresh] = writers.emplace(place_of(sink->table) + sink->writer, node.get());
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
