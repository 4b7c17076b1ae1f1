#include "sql/optimize.h"

#include "sql/merge_projects.h"
#include "sql/rebuild.h"
#include "sql/share_subplans.h"

namespace strand::sql {

using plan::Input;
using plan::Node;
using plan::NodePtr;

std::optional<std::vector<size_t>> Rebuild::map_hash(const Built& from, const plan::Project& project) {
  if (!from.hashed) return std::nullopt;
  std::vector<size_t> now;
  for (const size_t column : *from.hashed) {
    for (size_t i = 0; i < project.expressions.size() && now.size() < from.hashed->size(); ++i) {
      const expr::Expr& e = *project.expressions[i];
      if (e.kind != expr::Expr::Kind::kColumn || e.column != column) continue;
      now.push_back(i);
      break;
    }
  }
  return now.size() == from.hashed->size() ? std::optional(now) : std::nullopt;
}

Built Rebuild::narrow(const Built& from, const std::vector<size_t>& columns, const NodePtr& reader,
                      const std::string& suffix) const {
  const std::vector<size_t> now = from.at(columns);
  const columnar::Schema& schema = *from.schema();
  if (now == identity(schema.size())) return from;
  auto node = std::make_shared<Node>();
  std::vector<columnar::Field> fields;
  plan::Project project;
  Built result{node, Port::kMain, std::vector<size_t>(from.position.size(), kGone)};
  for (size_t i = 0; i < now.size(); ++i) {
    fields.push_back(schema[now[i]]);
    project.expressions.push_back(expr::column(now[i], schema[now[i]].type));
    result.position[columns[i]] = i;
    if (from.port == Port::kMain && from.node->rowtime == now[i]) node->rowtime = i;
  }
  result.hashed = map_hash(from, project);
  node->id = reader->id + suffix;
  node->label = reader->label;
  node->where = reader->where;
  node->detail = std::move(project);
  node->inputs = {{from.node, from.port}};
  node->output = make_schema(std::move(fields));
  return result;
}

Rebuild::Edge Rebuild::keyed_edge(const NodePtr& node, const std::vector<size_t>& keys, size_t number,
                                  const std::string& suffix) const {
  const Built& from = input_of(node, number);
  const std::vector<size_t> now = from.at(keys);
  if (!keys.empty() && from.hashed == now) {
    return {from, {.node = from.node, .port = from.port, .number = number}};
  }
  Edge edge{narrow(from, own_needs(node, number), node, suffix), {}, true};
  edge.input = {.node = edge.from.node, .port = edge.from.port, .number = number};
  edge.input.hash_keys = edge.from.at(keys);
  edge.input.single = keys.empty();
  return edge;
}

std::vector<size_t> Rebuild::own_needs(const NodePtr& node, size_t number) const {
  std::map<Port, ColumnSet> ports;
  if (const auto found = required_.find(node.get()); found != required_.end()) ports = found->second;
  const ColumnSet columns = input_columns(*node, ports, number);
  return {columns.begin(), columns.end()};
}

std::vector<NodePtr> optimize(const std::vector<NodePtr>& sinks, const OptimizeOptions& options) {
  merge_projects(sinks);
  share_subplans(sinks);
  const Requirements required = requirements_of(sinks);
  const std::vector<NodePtr> nodes = plan::Plan{.job = {}, .sinks = sinks, .settings = {}}.nodes();
  Rebuild rebuild(nodes, required, options);
  std::map<const Node*, NodePtr> made;
  for (const NodePtr& node : nodes) made[node.get()] = rebuild.run(node);
  std::vector<NodePtr> result;
  for (const NodePtr& sink : sinks) result.push_back(made.at(sink.get()));
  return result;
}

}  // namespace strand::sql
