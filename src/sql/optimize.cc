#include "sql/optimize.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/check.h"
#include "sql/merge_projects.h"
#include "sql/nodes.h"
#include "sql/requirements.h"

namespace strand::sql {

namespace {

using plan::Input;
using plan::Node;
using plan::NodePtr;

constexpr size_t kGone = static_cast<size_t>(-1);

/// A port of a rebuilt node: where its old columns are now, and by which columns its rows are distributed.
struct Built {
  NodePtr node;
  Port port = Port::kMain;
  std::vector<size_t> position;                    // old column -> new column, or kGone
  std::optional<std::vector<size_t>> hashed = {};  // new columns, in the order of the hash

  size_t at(size_t column) const {
    STRAND_CHECK(column < position.size() && position[column] != kGone);
    return position[column];
  }
  std::vector<size_t> at(const std::vector<size_t>& columns) const {
    std::vector<size_t> now;
    for (const size_t column : columns) now.push_back(at(column));
    return now;
  }
  const columnar::SchemaPtr& schema() const {
    return port == Port::kMain ? node->output : node->side_outputs.at(port);
  }
};

std::vector<size_t> identity(size_t size) {
  std::vector<size_t> columns(size);
  for (size_t i = 0; i < size; ++i) columns[i] = i;
  return columns;
}

/// Rebuilds nodes, inputs first.
class Rebuild {
 public:
  Rebuild(const std::vector<NodePtr>& nodes, const Requirements& required, const OptimizeOptions& options)
      : required_(required), options_(options) {
    for (const NodePtr& node : nodes) {
      for (const Input& input : node->inputs) ++readers_[input.node.get()];
    }
  }

  NodePtr run(const NodePtr& node) {
    std::visit([&](const auto& detail) { build(node, detail); }, node->detail);
    return built_.at(node.get()).at(Port::kMain).node;
  }

 private:
  const ColumnSet* read_of(const NodePtr& node, Port port) const {
    const auto ports = required_.find(node.get());
    if (ports == required_.end()) return nullptr;
    const auto columns = ports->second.find(port);
    return columns == ports->second.end() ? nullptr : &columns->second;
  }
  const Built& input_of(const NodePtr& node, size_t i = 0) const {
    return built_.at(node->inputs[i].node.get()).at(node->inputs[i].port);
  }
  std::shared_ptr<Node> copy(const NodePtr& node, plan::Detail detail, std::vector<Input> inputs) const {
    auto made = std::make_shared<Node>(*node);
    made->detail = std::move(detail);
    made->inputs = std::move(inputs);
    made->rowtime.reset();
    return made;
  }
  void keep(const NodePtr& old, Built built) { built_[old.get()][built.port] = std::move(built); }

  /// A projection of `from` to `columns` (old numbers), in this order; `from` itself where it is that
  /// already.
  Built narrow(const Built& from, const std::vector<size_t>& columns, const NodePtr& reader,
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

  static std::optional<std::vector<size_t>> map_hash(const Built& from, const plan::Project& project) {
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

  struct Edge {
    Built from;
    Input input;
    bool exchanged = false;
  };
  /// The edge to an operator with state by key: rows are narrowed before they are exchanged. An exchange is
  /// left out only where rows are distributed by the very same columns: the operator's key groups must be
  /// those of its subtask.
  Edge keyed_edge(const NodePtr& node, const std::vector<size_t>& keys, size_t number = 0,
                  const std::string& suffix = "/input") const {
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
  std::vector<size_t> own_needs(const NodePtr& node, size_t number) const {
    std::map<Port, ColumnSet> ports;
    if (const auto found = required_.find(node.get()); found != required_.end()) ports = found->second;
    const ColumnSet columns = input_columns(*node, ports, number);
    return {columns.begin(), columns.end()};
  }

  void build(const NodePtr& node, const plan::Scan& scan) {
    ColumnSet keep_columns = read_of(node, Port::kMain) ? *read_of(node, Port::kMain) : ColumnSet{};
    if (scan.watermark) {
      keep_columns.insert(scan.watermark->time_column);
      const auto more = expr::columns_of(*scan.watermark->expression);
      keep_columns.insert(more.begin(), more.end());
    }
    if (keep_columns.empty()) keep_columns.insert(0);
    Built main{nullptr, Port::kMain, std::vector<size_t>(node->output->size(), kGone)};
    ColumnSet physical;
    std::vector<columnar::Field> fields;
    for (const size_t column : keep_columns) {
      main.position[column] = fields.size();
      fields.push_back((*node->output)[column]);
      const auto read = expr::columns_of(*scan.project[column]);
      physical.insert(read.begin(), read.end());
    }
    std::vector<size_t> moved(scan.read.size(), kGone);
    plan::Scan pruned{
        .table = scan.table, .read = {}, .project = {}, .watermark = scan.watermark, .changes = scan.changes};
    for (const size_t column : physical) {
      moved[column] = pruned.read.size();
      pruned.read.push_back(scan.read[column]);
    }
    for (const size_t column : keep_columns)
      pruned.project.push_back(expr::remap(scan.project[column], moved));
    if (pruned.watermark) {
      pruned.watermark->time_column = main.at(scan.watermark->time_column);
      pruned.watermark->expression = expr::remap(scan.watermark->expression, main.position);
    }
    auto made = copy(node, std::move(pruned), {});
    made->output = make_schema(std::move(fields));
    if (node->rowtime) made->rowtime = main.at(*node->rowtime);
    main.node = made;
    keep(node, {made, Port::kBad, identity(node->side_outputs.at(Port::kBad)->size())});
    keep(node, std::move(main));
  }

  void build(const NodePtr& node, const plan::Filter& filter) {
    Built from = input_of(node);
    auto made =
        copy(node, plan::Filter{expr::remap(filter.condition, from.position)}, {{from.node, from.port}});
    made->output = from.schema();
    made->rowtime = from.port == Port::kMain ? from.node->rowtime : std::nullopt;
    from.node = made;
    from.port = Port::kMain;
    keep(node, std::move(from));
  }

  void build(const NodePtr& node, const plan::Project& project) {
    const Built& from = input_of(node);
    Built main{nullptr, Port::kMain, std::vector<size_t>(project.expressions.size(), kGone)};
    plan::Project pruned;
    std::vector<columnar::Field> fields;
    std::optional<size_t> rowtime;
    for (const size_t column : *read_of(node, Port::kMain)) {
      main.position[column] = fields.size();
      if (node->rowtime == column) rowtime = fields.size();
      fields.push_back((*node->output)[column]);
      pruned.expressions.push_back(expr::remap(project.expressions[column], from.position));
    }
    main.hashed = map_hash(from, pruned);
    if (only_renames(node, from, pruned)) {
      draft(from.node).output = make_schema(std::move(fields));
      main.node = from.node;
      keep(node, std::move(main));
      return;
    }
    auto made = copy(node, std::move(pruned), {{from.node, from.port}});
    made->output = make_schema(std::move(fields));
    made->rowtime = rowtime;
    main.node = made;
    keep(node, std::move(main));
  }

  /// Whether a projection gives other names, and nothing else, to all columns of a node that nobody else
  /// reads and that can bear other names.
  bool only_renames(const NodePtr& node, const Built& from, const plan::Project& project) const {
    const plan::Detail& below = from.node->detail;
    if (from.port != Port::kMain || readers_.at(node->inputs[0].node.get()) != 1) return false;
    if (!std::holds_alternative<plan::Project>(below) && !std::holds_alternative<plan::Union>(below))
      return false;
    if (project.expressions.size() != from.schema()->size()) return false;
    for (size_t i = 0; i < project.expressions.size(); ++i) {
      const expr::Expr& e = *project.expressions[i];
      if (e.kind != expr::Expr::Kind::kColumn || e.column != i) return false;
    }
    return true;
  }

  void build(const NodePtr& node, const plan::Union&) {
    const ColumnSet& read = *read_of(node, Port::kMain);
    const std::vector<size_t> columns(read.begin(), read.end());
    std::vector<Input> inputs;
    Built main{nullptr, Port::kMain, std::vector<size_t>(node->output->size(), kGone)};
    for (size_t i = 0; i < node->inputs.size(); ++i) {
      const Built branch = narrow(input_of(node, i), columns, node, "/input-" + std::to_string(i + 1));
      inputs.push_back({branch.node, branch.port});
      if (i == 0) main.hashed = branch.hashed;
      if (branch.hashed != main.hashed) main.hashed.reset();
    }
    auto made = copy(node, plan::Union{}, std::move(inputs));
    std::vector<columnar::Field> fields;
    for (const size_t column : columns) {
      main.position[column] = fields.size();
      if (node->rowtime == column) made->rowtime = fields.size();
      fields.push_back((*node->output)[column]);
    }
    made->output = make_schema(std::move(fields));
    main.node = made;
    keep(node, std::move(main));
  }

  void build(const NodePtr& node, const plan::Unnest& unnest) {
    const Built& from = input_of(node);
    const ColumnSet& read = *read_of(node, Port::kMain);
    plan::Unnest moved = unnest;
    moved.column = from.at(unnest.column);
    moved.keep.clear();
    Built main{nullptr, Port::kMain, std::vector<size_t>(node->output->size(), kGone)};
    std::vector<columnar::Field> fields;
    std::optional<size_t> rowtime;
    for (size_t i = 0; i < node->output->size(); ++i) {
      const bool is_element = i >= unnest.keep.size();
      if (!is_element && !read.contains(i)) continue;
      main.position[i] = fields.size();
      if (node->rowtime == i) rowtime = fields.size();
      if (!is_element) moved.keep.push_back(from.at(unnest.keep[i]));
      fields.push_back((*node->output)[i]);
    }
    plan::Project kept;
    for (const size_t column : moved.keep)
      kept.expressions.push_back(expr::column(column, (*from.schema())[column].type));
    main.hashed = map_hash(from, kept);
    auto made = copy(node, std::move(moved), {{from.node, from.port}});
    made->output = make_schema(std::move(fields));
    made->rowtime = rowtime;
    main.node = made;
    keep(node, std::move(main));
  }

  void build(const NodePtr& node, const plan::Deduplicate& dedup) {
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

  /// What passes the input's columns on, with `more` of its own behind them.
  Built with_more(const NodePtr& node, const Edge& edge, size_t more, Node& made) const {
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

  static void move_references(expr::MatchValue& value, const Built& from) {
    for (expr::MatchReference& reference : value.references) {
      const bool stars =
          reference.aggregate && reference.aggregate->kind == expr::Aggregate::Kind::kCountStar;
      if (stars) {
        reference.column = reference.aggregate->column = 0;
        continue;
      }
      reference.column = from.at(reference.column);
      if (reference.aggregate) reference.aggregate->column = reference.column;
    }
  }

  void build(const NodePtr& node, const plan::Match& match) {
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

  void build(const NodePtr& node, const plan::OverAggregate& over) {
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

  void build(const NodePtr& node, const plan::TopN& top) {
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

  void build(const NodePtr& node, const plan::WindowTopN& top) {
    const Edge edge = keyed_edge(node, top.keys);
    plan::WindowTopN moved = top;
    moved.keys = edge.from.at(top.keys);
    moved.window_start = edge.from.at(top.window_start);
    moved.window_end = edge.from.at(top.window_end);
    for (columnar::SortColumn& sort : moved.order) sort.column = edge.from.at(sort.column);
    keep_with_late(node, edge, std::move(moved), top.rank ? 1 : 0, edge.from.at(top.keys));
  }

  void build(const NodePtr& node, const plan::SessionRows& session) {
    const Edge edge = keyed_edge(node, session.keys);
    plan::SessionRows moved = session;
    moved.keys = edge.from.at(session.keys);
    moved.time_column = edge.from.at(session.time_column);
    keep_with_late(node, edge, std::move(moved), 3, edge.from.at(session.keys));
  }

  void build(const NodePtr& node, const plan::TimeSort& sort) {
    const Edge edge = keyed_edge(node, {});
    plan::TimeSort moved = sort;
    moved.time_column = edge.from.at(sort.time_column);
    for (columnar::SortColumn& each : moved.order) each.column = edge.from.at(each.column);
    keep_with_late(node, edge, std::move(moved), 0, {});
  }

  void build(const NodePtr& node, const plan::Materialize& materialize) {
    const Edge edge = keyed_edge(node, materialize.keys);
    plan::Materialize moved{edge.from.at(materialize.keys)};
    auto made = copy(node, moved, {edge.input});
    Built main = with_more(node, edge, 0, *made);
    main.hashed = moved.keys;
    main.node = made;
    keep(node, std::move(main));
  }

  /// An operator that gives its input's columns with `more` behind them, and late rows as they came.
  void keep_with_late(const NodePtr& node, const Edge& edge, plan::Detail detail, size_t more,
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

  void build(const NodePtr& node, const plan::TemporalJoin& join) {
    Joined joined = join_inputs(node, join.on);
    plan::TemporalJoin moved = join;
    moved.on = joined.on;
    for (size_t side = 0; side < 2; ++side)
      moved.time_columns[side] = joined.edges[side].from.at(join.time_columns[side]);
    keep_join(node, std::move(moved), std::move(joined));
  }

  /// Of the table only the columns that are read; of the input all stay.
  void build(const NodePtr& node, const plan::LookupJoin& lookup) {
    const Built& from = input_of(node);
    const size_t own = node->output->size() - lookup.read.size();
    ColumnSet read = *read_of(node, Port::kMain);
    if (lookup.condition) {
      const auto more = expr::columns_of(*lookup.condition);
      read.insert(more.begin(), more.end());
    }
    plan::LookupJoin moved = lookup;
    moved.keys = from.at(lookup.keys);
    moved.read.clear();
    Built main = from;
    main.port = Port::kMain;
    main.position.resize(node->output->size(), kGone);
    std::vector<columnar::Field> fields = from.schema()->fields();
    for (size_t i = own; i < node->output->size(); ++i) {
      if (!read.contains(i)) continue;
      main.position[i] = fields.size();
      fields.push_back((*node->output)[i]);
      moved.read.push_back(lookup.read[i - own]);
    }
    if (lookup.condition) moved.condition = expr::remap(lookup.condition, main.position);
    auto made = copy(node, std::move(moved), {{from.node, from.port}});
    made->output = make_schema(std::move(fields));
    made->rowtime = from.port == Port::kMain ? from.node->rowtime : std::nullopt;
    main.node = made;
    keep(node, std::move(main));
  }

  static void move_aggregates(std::vector<expr::Aggregate>& aggregates, const Built& from) {
    for (expr::Aggregate& aggregate : aggregates) {
      expr::for_each_column(aggregate, [&](size_t& column) { column = from.at(column); });
    }
  }

  /// A row of HOP or CUMULATE may miss some of its windows only, which partials do not tell. Sessions of a
  /// key are known where all of its rows meet.
  static bool takes_partials(const plan::WindowAggregate& window, bool late_read, bool hashed_before) {
    if (window.kind == expr::WindowKind::kSession) return false;
    if (plan::has_whole_windows(window)) return false;
    return !late_read || (hashed_before && window.kind == expr::WindowKind::kTumble);
  }

  void build(const NodePtr& node, const plan::WindowAggregate& window) {
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

  void build(const NodePtr& node, const plan::GroupAggregate& group) {
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

  /// Both sides of a join, each narrowed and exchanged by its keys, and what becomes of the output's columns.
  struct Joined {
    std::array<Edge, 2> edges;
    Built main;
    std::vector<columnar::Field> fields;
    plan::JoinOn on;
    std::optional<size_t> rowtime;
  };
  Joined join_inputs(const NodePtr& node, const plan::JoinOn& on) const {
    Joined joined{{keyed_edge(node, on.keys[0], 0, "/left"), keyed_edge(node, on.keys[1], 1, "/right")},
                  {},
                  {},
                  on,
                  {}};
    std::vector<size_t> position;  // of the columns of both sides
    for (size_t side = 0; side < 2; ++side) {
      const Built& from = joined.edges[side].from;
      const size_t first = joined.fields.size();
      for (const size_t at : from.position) position.push_back(at == kGone ? kGone : first + at);
      for (columnar::Field field : from.schema()->fields()) {
        if (plan::is_outer(on.kind, 1 - side)) field.type = columnar::with_nullable(field.type, true);
        joined.fields.push_back(std::move(field));
      }
      joined.on.keys[side] = from.at(on.keys[side]);
    }
    if (on.condition) joined.on.condition = expr::remap(on.condition, position);
    if (!plan::gives_pairs(on.kind)) {
      position.resize(joined.edges[0].from.position.size());
      joined.fields.resize(joined.edges[0].from.schema()->size());
    }
    joined.main.position = std::move(position);
    // The keys of a side that is padded with NULLs do not tell where its row is.
    if (!on.keys[0].empty() && !plan::is_outer(on.kind, 1)) joined.main.hashed = joined.on.keys[0];
    if (node->rowtime && joined.main.position[*node->rowtime] != kGone) {
      joined.rowtime = joined.main.position[*node->rowtime];
    }
    return joined;
  }
  void keep_join(const NodePtr& node, plan::Detail detail, Joined joined) {
    auto made = copy(node, std::move(detail), {joined.edges[0].input, joined.edges[1].input});
    made->output = make_schema(std::move(joined.fields));
    made->rowtime = joined.rowtime;
    joined.main.node = made;
    keep(node, std::move(joined.main));
  }

  void build(const NodePtr& node, const plan::IntervalJoin& join) {
    Joined joined = join_inputs(node, join.on);
    plan::IntervalJoin moved = join;
    moved.on = joined.on;
    for (size_t side = 0; side < 2; ++side) {
      moved.time_columns[side] = joined.edges[side].from.at(join.time_columns[side]);
    }
    keep_join(node, std::move(moved), std::move(joined));
  }

  void build(const NodePtr& node, const plan::WindowJoin& join) {
    Joined joined = join_inputs(node, join.on);
    plan::WindowJoin moved = join;
    moved.on = joined.on;
    for (size_t side = 0; side < 2; ++side) {
      moved.window_ends[side] = joined.edges[side].from.at(join.window_ends[side]);
    }
    keep_join(node, std::move(moved), std::move(joined));
  }

  void build(const NodePtr& node, const plan::RegularJoin& join) {
    Joined joined = join_inputs(node, join.on);
    plan::RegularJoin moved{joined.on, join.ttl, join.update_kinds};
    keep_join(node, std::move(moved), std::move(joined));
  }

  /// A function of the program reads whole rows.
  void build(const NodePtr& node, const plan::Function& function) {
    std::vector<Input> inputs = node->inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const Built from =
          narrow(input_of(node, i), identity(node->input(i).size()), node, "/input" + std::to_string(i));
      inputs[i].node = from.node;
      inputs[i].port = from.port;
    }
    keep(node, {copy(node, function, std::move(inputs)), Port::kMain, {}});
  }

  void build(const NodePtr& node, const plan::SinkWrite& sink) {
    const Built from = narrow(input_of(node), identity(sink.columns.size()), node, "/input");
    Input input{from.node, from.port};
    const std::vector<size_t>& keys = node->inputs[0].hash_keys;
    // As for operators with state by key: a subtask of a sink flushes what it owns, and is told what is held
    // of it.
    if (from.hashed != keys) input.hash_keys = keys;
    keep(node, {copy(node, sink, {input}), Port::kMain, {}});
  }

  const Requirements& required_;
  const OptimizeOptions& options_;
  std::map<const Node*, int> readers_;
  std::map<const Node*, std::map<Port, Built>> built_;
};

}  // namespace

std::vector<NodePtr> optimize(const std::vector<NodePtr>& sinks, const OptimizeOptions& options) {
  merge_projects(sinks);
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
