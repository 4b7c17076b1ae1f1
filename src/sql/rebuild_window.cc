#include "sql/rebuild.h"

namespace strand::sql {

using plan::Input;
using plan::Node;
using plan::NodePtr;

bool Rebuild::takes_partials(const plan::WindowAggregate& window, bool late_read, bool hashed_before) {
  if (window.kind == expr::WindowKind::kSession) return false;
  if (plan::has_whole_windows(window)) return false;
  return !late_read || (hashed_before && window.kind == expr::WindowKind::kTumble);
}

void Rebuild::build(const NodePtr& node, const plan::WindowAggregate& window) {
  const bool late_read = read_of(node, Port::kLate) != nullptr;
  const bool early_read = read_of(node, Port::kEarly) != nullptr;
  const bool hashed_before = input_of(node).hashed.has_value();
  const Edge edge = keyed_edge(node, window.keys);
  plan::WindowAggregate moved = window;
  moved.keys = edge.from.at(window.keys);
  moved.time_column = edge.from.at(window.time_column);
  move_aggregates(moved.aggregates, edge.from);
  if (!early_read) moved.early_delay.reset();
  if (edge.exchanged && takes_partials(window, late_read, hashed_before))
    moved.pre_aggregate = options_.pre_aggregate;

  Built late{nullptr, Port::kLate, edge.from.position};
  std::vector<columnar::Field> late_fields = edge.from.schema()->fields();
  const columnar::Schema& old_late = *node->side_outputs.at(Port::kLate);
  for (size_t i = edge.from.position.size(); i < old_late.size(); ++i) {
    late.position.push_back(late_fields.size());
    late_fields.push_back(old_late[i]);
  }
  if (!moved.pre_aggregate && !moved.keys.empty()) late.hashed = moved.keys;
  Built main{nullptr, Port::kMain, identity(node->output->size())};
  if (!moved.keys.empty()) main.hashed = identity(moved.keys.size());

  auto made = copy(node, std::move(moved), {edge.input});
  made->rowtime = node->rowtime;
  made->side_outputs[Port::kLate] = make_schema(std::move(late_fields));
  if (!early_read) made->side_outputs.erase(Port::kEarly);
  main.node = late.node = made;
  Built early = main;
  early.port = Port::kEarly;
  if (early_read) keep(node, std::move(early));
  keep(node, std::move(late));
  keep(node, std::move(main));
}

void Rebuild::build(const NodePtr& node, const plan::WindowTopN& top) {
  const Edge edge = keyed_edge(node, top.keys);
  plan::WindowTopN moved = top;
  moved.keys = edge.from.at(top.keys);
  moved.window_start = edge.from.at(top.window_start);
  moved.window_end = edge.from.at(top.window_end);
  for (columnar::SortColumn& sort : moved.order) sort.column = edge.from.at(sort.column);
  keep_with_late(node, edge, std::move(moved), top.rank ? 1 : 0, edge.from.at(top.keys));
}

void Rebuild::build(const NodePtr& node, const plan::SessionRows& session) {
  const Edge edge = keyed_edge(node, session.keys);
  plan::SessionRows moved = session;
  moved.keys = edge.from.at(session.keys);
  moved.time_column = edge.from.at(session.time_column);
  keep_with_late(node, edge, std::move(moved), 3, edge.from.at(session.keys));
}

}  // namespace strand::sql
