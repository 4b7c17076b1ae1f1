#include "sql/rebuild.h"

namespace strand::sql {

using plan::Input;
using plan::Node;
using plan::NodePtr;

Built Rebuild::with_more(const NodePtr& node, const Edge& edge, size_t more, Node& made) const {
  Built main = edge.from;
  main.port = Port::kMain;
  std::vector<columnar::Field> fields = edge.from.schema()->fields();
  const columnar::Schema& old = *node->output;
  for (size_t i = old.size() - more; i < old.size(); ++i) {
    main.position.push_back(fields.size());
    fields.push_back(old[i]);
  }
  made.output = make_schema(std::move(fields));
  made.rowtime = edge.from.port == Port::kMain ? edge.from.node->rowtime : std::nullopt;
  return main;
}

void Rebuild::keep_with_late(const NodePtr& node, const Edge& edge, plan::Detail detail, size_t more,
                             const std::vector<size_t>& keys) {
  auto made = copy(node, std::move(detail), {edge.input});
  Built main = with_more(node, edge, more, *made);
  if (node->rowtime && main.position[*node->rowtime] != kGone) made->rowtime = main.at(*node->rowtime);
  Built late = edge.from;
  late.port = Port::kLate;
  main.hashed = late.hashed = keys.empty() ? std::nullopt : std::optional(keys);
  made->side_outputs[Port::kLate] = edge.from.schema();
  main.node = late.node = made;
  keep(node, std::move(late));
  keep(node, std::move(main));
}

void Rebuild::move_aggregates(std::vector<expr::Aggregate>& aggregates, const Built& from) {
  for (expr::Aggregate& aggregate : aggregates) {
    expr::for_each_column(aggregate, [&](size_t& column) { column = from.at(column); });
  }
}

void Rebuild::build(const NodePtr& node, const plan::Deduplicate& dedup) {
  const Edge edge = keyed_edge(node, dedup.keys);
  plan::Deduplicate moved = dedup;
  moved.keys = edge.from.at(dedup.keys);
  if (moved.retention) moved.retention->column = edge.from.at(dedup.retention->column);
  if (moved.time_column) moved.time_column = edge.from.at(*dedup.time_column);
  Built main = edge.from;
  main.port = Port::kMain;
  main.hashed = moved.keys;
  auto made = copy(node, std::move(moved), {edge.input});
  made->output = edge.from.schema();
  made->rowtime = edge.from.port == Port::kMain ? edge.from.node->rowtime : std::nullopt;
  for (auto& [port, schema] : made->side_outputs) schema = made->output;
  main.node = made;
  for (const Port port : {Port::kDuplicate, Port::kLate}) {
    Built side = main;
    side.port = port;
    keep(node, std::move(side));
  }
  keep(node, std::move(main));
}

void Rebuild::move_references(expr::MatchValue& value, const Built& from) {
  for (expr::MatchReference& reference : value.references) {
    const bool stars = reference.aggregate && reference.aggregate->kind == expr::Aggregate::Kind::kCountStar;
    if (stars) {
      reference.column = reference.aggregate->column = 0;
      continue;
    }
    reference.column = from.at(reference.column);
    if (reference.aggregate) reference.aggregate->column = reference.column;
  }
}

void Rebuild::build(const NodePtr& node, const plan::Match& match) {
  const Edge edge = keyed_edge(node, match.keys);
  plan::Match moved = match;
  moved.keys = edge.from.at(match.keys);
  if (match.time_column) moved.time_column = edge.from.at(*match.time_column);
  for (expr::MatchVariable& variable : moved.pattern) {
    if (variable.condition) move_references(*variable.condition, edge.from);
  }
  for (expr::MatchValue& measure : moved.measures) move_references(measure, edge.from);
  Built main{nullptr, Port::kMain, identity(node->output->size())};
  Built late = edge.from;
  late.port = Port::kLate;
  late.hashed.reset();
  if (!moved.keys.empty()) {
    main.hashed = identity(moved.keys.size());
    late.hashed = moved.keys;
  }
  auto made = copy(node, std::move(moved), {edge.input});
  made->rowtime = node->rowtime;
  made->side_outputs[Port::kLate] = edge.from.schema();
  main.node = late.node = made;
  keep(node, std::move(late));
  keep(node, std::move(main));
}

void Rebuild::build(const NodePtr& node, const plan::OverAggregate& over) {
  const Edge edge = keyed_edge(node, over.keys);
  plan::OverAggregate moved = over;
  moved.keys = edge.from.at(over.keys);
  if (moved.time_column) moved.time_column = edge.from.at(*over.time_column);
  for (columnar::SortColumn& sort : moved.order) sort.column = edge.from.at(sort.column);
  move_aggregates(moved.aggregates, edge.from);
  const std::vector<size_t> keys = moved.keys;
  auto made = copy(node, std::move(moved), {edge.input});
  Built main = with_more(node, edge, over.aggregates.size() + over.ranks.size(), *made);
  Built late = edge.from;
  late.port = Port::kLate;
  if (keys.empty()) {
    main.hashed.reset();
    late.hashed.reset();
  } else {
    main.hashed = late.hashed = keys;
  }
  made->side_outputs[Port::kLate] = edge.from.schema();
  main.node = late.node = made;
  keep(node, std::move(late));
  keep(node, std::move(main));
}

void Rebuild::build(const NodePtr& node, const plan::TopN& top) {
  const Edge edge = keyed_edge(node, top.keys);
  plan::TopN moved = top;
  moved.keys = edge.from.at(top.keys);
  for (columnar::SortColumn& sort : moved.order) sort.column = edge.from.at(sort.column);
  const std::vector<size_t> keys = moved.keys;
  auto made = copy(node, std::move(moved), {edge.input});
  Built main = with_more(node, edge, top.rank ? 1 : 0, *made);
  main.hashed = keys.empty() ? std::nullopt : std::optional(keys);
  main.node = made;
  keep(node, std::move(main));
}

void Rebuild::build(const NodePtr& node, const plan::TimeSort& sort) {
  const Edge edge = keyed_edge(node, {});
  plan::TimeSort moved = sort;
  moved.time_column = edge.from.at(sort.time_column);
  for (columnar::SortColumn& each : moved.order) each.column = edge.from.at(each.column);
  keep_with_late(node, edge, std::move(moved), 0, {});
}

void Rebuild::build(const NodePtr& node, const plan::Materialize& materialize) {
  const Edge edge = keyed_edge(node, materialize.keys);
  plan::Materialize moved{edge.from.at(materialize.keys)};
  auto made = copy(node, moved, {edge.input});
  Built main = with_more(node, edge, 0, *made);
  main.hashed = moved.keys;
  main.node = made;
  keep(node, std::move(main));
}

void Rebuild::build(const NodePtr& node, const plan::GroupAggregate& group) {
  const Edge edge = keyed_edge(node, group.keys);
  plan::GroupAggregate moved = group;
  moved.keys = edge.from.at(group.keys);
  move_aggregates(moved.aggregates, edge.from);
  if (moved.retention) moved.retention->column = edge.from.at(group.retention->column);
  Built main{nullptr, Port::kMain, identity(node->output->size())};
  if (!moved.keys.empty()) main.hashed = identity(moved.keys.size());
  main.node = copy(node, std::move(moved), {edge.input});
  keep(node, std::move(main));
}

}  // namespace strand::sql
