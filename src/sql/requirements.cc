#include "sql/requirements.h"

namespace strand::sql {

namespace {

using plan::Node;

void add_expression(ColumnSet& columns, const expr::ExprPtr& e) {
  const auto read = expr::columns_of(*e);
  columns.insert(read.begin(), read.end());
}

ColumnSet all_of(const std::map<Port, ColumnSet>& ports) {
  ColumnSet columns;
  for (const auto& [port, read] : ports) columns.insert(read.begin(), read.end());
  return columns;
}

void add_aggregates(ColumnSet& columns, const std::vector<expr::Aggregate>& aggregates) {
  for (const expr::Aggregate& aggregate : aggregates) {
    expr::for_each_column(aggregate, [&](size_t column) { columns.insert(column); });
  }
}

struct InputColumns {
  const Node& node;
  const std::map<Port, ColumnSet>& ports;
  size_t input;

  size_t input_size() const { return node.inputs[0].node->schema(node.inputs[0].port)->size(); }

  /// What is read of the columns that pass through, where more stand behind them.
  ColumnSet own_columns() const {
    ColumnSet columns = all_of(ports);
    columns.erase(columns.lower_bound(input_size()), columns.end());
    return columns;
  }

  ColumnSet operator()(const plan::Scan&) const { return {}; }
  ColumnSet operator()(const plan::Filter& filter) const {
    ColumnSet columns = all_of(ports);
    add_expression(columns, filter.condition);
    return columns;
  }
  ColumnSet operator()(const plan::Project& project) const {
    ColumnSet columns;
    for (const size_t output : all_of(ports)) add_expression(columns, project.expressions[output]);
    return columns;
  }
  ColumnSet operator()(const plan::Union&) const { return all_of(ports); }
  ColumnSet operator()(const plan::ReadTime& read) const {
    ColumnSet columns = all_of(ports);
    columns.insert(read.time_column);
    return columns;
  }
  ColumnSet operator()(const plan::Unnest& unnest) const {
    ColumnSet columns = {unnest.column};
    for (const size_t output : all_of(ports)) {
      if (output < unnest.keep.size()) columns.insert(unnest.keep[output]);
    }
    return columns;
  }
  ColumnSet operator()(const plan::Deduplicate& dedup) const {
    ColumnSet columns = all_of(ports);
    columns.insert(dedup.keys.begin(), dedup.keys.end());
    if (dedup.retention) columns.insert(dedup.retention->column);
    if (dedup.time_column) columns.insert(*dedup.time_column);
    return columns;
  }
  ColumnSet operator()(const plan::OverAggregate& over) const {
    ColumnSet columns = own_columns();
    columns.insert(over.keys.begin(), over.keys.end());
    if (over.time_column) columns.insert(*over.time_column);
    for (const columnar::SortColumn& sort : over.order) columns.insert(sort.column);
    add_aggregates(columns, over.aggregates);
    return columns;
  }
  ColumnSet operator()(const plan::Match& match) const {
    ColumnSet columns(match.keys.begin(), match.keys.end());
    if (const auto late = ports.find(Port::kLate); late != ports.end())
      columns.insert(late->second.begin(), late->second.end());
    if (match.time_column) columns.insert(*match.time_column);
    const auto add = [&](const expr::MatchValue& value) {
      for (const expr::MatchReference& reference : value.references) {
        const bool stars =
            reference.aggregate && reference.aggregate->kind == expr::Aggregate::Kind::kCountStar;
        if (!stars) columns.insert(reference.column);
      }
    };
    for (const expr::MatchVariable& variable : match.pattern) {
      if (variable.condition) add(*variable.condition);
    }
    for (const expr::MatchValue& measure : match.measures) add(measure);
    return columns;
  }
  ColumnSet operator()(const plan::TopN& top) const {
    ColumnSet columns = own_columns();
    columns.insert(top.keys.begin(), top.keys.end());
    for (const columnar::SortColumn& sort : top.order) columns.insert(sort.column);
    return columns;
  }
  ColumnSet operator()(const plan::WindowTopN& top) const {
    ColumnSet columns = own_columns();
    columns.insert(top.keys.begin(), top.keys.end());
    columns.insert({top.window_start, top.window_end});
    for (const columnar::SortColumn& sort : top.order) columns.insert(sort.column);
    return columns;
  }
  ColumnSet operator()(const plan::SessionRows& session) const {
    ColumnSet columns = own_columns();
    columns.insert(session.keys.begin(), session.keys.end());
    columns.insert(session.time_column);
    return columns;
  }
  ColumnSet operator()(const plan::TimeSort& sort) const {
    ColumnSet columns = all_of(ports);
    columns.insert(sort.time_column);
    for (const columnar::SortColumn& each : sort.order) columns.insert(each.column);
    return columns;
  }
  ColumnSet operator()(const plan::Materialize& materialize) const {
    ColumnSet columns = all_of(ports);
    columns.insert(materialize.keys.begin(), materialize.keys.end());
    return columns;
  }
  ColumnSet operator()(const plan::LookupJoin& lookup) const {
    ColumnSet columns = all_of(ports);
    if (lookup.condition) add_expression(columns, lookup.condition);
    columns.erase(columns.lower_bound(input_size()), columns.end());
    columns.insert(lookup.keys.begin(), lookup.keys.end());
    return columns;
  }
  ColumnSet operator()(const plan::TemporalJoin& join) const {
    ColumnSet columns = of_join(join.on);
    columns.insert(join.time_columns[input]);
    return columns;
  }
  ColumnSet operator()(const plan::WindowAggregate& window) const {
    ColumnSet columns(window.keys.begin(), window.keys.end());
    columns.insert(window.time_column);
    add_aggregates(columns, window.aggregates);
    if (const auto late = ports.find(Port::kLate); late != ports.end()) {
      for (const size_t column : late->second) {
        if (column < input_size()) columns.insert(column);
      }
    }
    return columns;
  }
  ColumnSet operator()(const plan::GroupAggregate& group) const {
    ColumnSet columns(group.keys.begin(), group.keys.end());
    add_aggregates(columns, group.aggregates);
    if (group.retention) columns.insert(group.retention->column);
    return columns;
  }
  ColumnSet of_join(const plan::JoinOn& on) const {
    ColumnSet joined = all_of(ports);
    if (on.condition) add_expression(joined, on.condition);
    const size_t left = node.input(0).size();
    ColumnSet columns(on.keys[input].begin(), on.keys[input].end());
    for (const size_t column : joined) {
      if ((column >= left) == (input == 1)) columns.insert(column - (input == 1 ? left : 0));
    }
    return columns;
  }
  ColumnSet operator()(const plan::WindowJoin& join) const {
    ColumnSet columns = of_join(join.on);
    columns.insert(join.window_ends[input]);
    return columns;
  }
  ColumnSet operator()(const plan::RegularJoin& join) const { return of_join(join.on); }
  ColumnSet operator()(const plan::IntervalJoin& join) const {
    ColumnSet columns = of_join(join.on);
    columns.insert(join.time_columns[input]);
    return columns;
  }
  ColumnSet operator()(const plan::Function&) const {
    ColumnSet columns;
    for (size_t i = 0; i < node.input(input).size(); ++i) columns.insert(i);
    return columns;
  }
  ColumnSet operator()(const plan::SinkWrite& sink) const {
    ColumnSet columns;
    for (size_t i = 0; i < sink.columns.size(); ++i) columns.insert(i);
    return columns;
  }
};

}  // namespace

ColumnSet input_columns(const Node& node, const std::map<Port, ColumnSet>& ports, size_t input) {
  ColumnSet columns = std::visit(InputColumns{node, ports, input}, node.detail);
  if (columns.empty()) columns.insert(0);
  return columns;
}

Requirements requirements_of(const std::vector<plan::NodePtr>& sinks) {
  const std::vector<plan::NodePtr> nodes = plan::Plan{.job = {}, .sinks = sinks, .settings = {}}.nodes();
  Requirements required;
  for (auto node = nodes.rbegin(); node != nodes.rend(); ++node) {  // readers before inputs
    const auto ports = required[node->get()];
    for (const plan::Input& input : (*node)->inputs) {
      const ColumnSet columns = input_columns(**node, ports, input.number);
      required[input.node.get()][input.port].insert(columns.begin(), columns.end());
    }
  }
  return required;
}

}  // namespace strand::sql
