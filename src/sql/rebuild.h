// Rebuilds the nodes of a plan with the columns that are read and the exchanges that are needed.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/check.h"
#include "plan/plan.h"
#include "sql/nodes.h"
#include "sql/optimize.h"
#include "sql/requirements.h"

namespace strand::sql {

inline constexpr size_t kGone = static_cast<size_t>(-1);

/// A port of a rebuilt node: where its old columns are now, and by which columns its rows are distributed.
struct Built {
  plan::NodePtr node;
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

inline std::vector<size_t> identity(size_t size) {
  std::vector<size_t> columns(size);
  for (size_t i = 0; i < size; ++i) columns[i] = i;
  return columns;
}

/// Rebuilds nodes, inputs first: optimize.cc, and one file for each kind of nodes.
class Rebuild {
 public:
  Rebuild(const std::vector<plan::NodePtr>& nodes, const Requirements& required,
          const OptimizeOptions& options)
      : required_(required), options_(options) {
    for (const plan::NodePtr& node : nodes) {
      for (const plan::Input& input : node->inputs) ++readers_[input.node.get()];
    }
  }

  plan::NodePtr run(const plan::NodePtr& node) {
    std::visit([&](const auto& detail) { build(node, detail); }, node->detail);
    return built_.at(node.get()).at(Port::kMain).node;
  }

 private:
  const ColumnSet* read_of(const plan::NodePtr& node, Port port) const {
    const auto ports = required_.find(node.get());
    if (ports == required_.end()) return nullptr;
    const auto columns = ports->second.find(port);
    return columns == ports->second.end() ? nullptr : &columns->second;
  }
  const Built& input_of(const plan::NodePtr& node, size_t i = 0) const {
    return built_.at(node->inputs[i].node.get()).at(node->inputs[i].port);
  }
  std::shared_ptr<plan::Node> copy(const plan::NodePtr& node, plan::Detail detail,
                                   std::vector<plan::Input> inputs) const {
    auto made = std::make_shared<plan::Node>(*node);
    made->detail = std::move(detail);
    made->inputs = std::move(inputs);
    made->rowtime.reset();
    return made;
  }
  void keep(const plan::NodePtr& old, Built built) { built_[old.get()][built.port] = std::move(built); }
  struct Edge {
    Built from;
    plan::Input input;
    bool exchanged = false;
  };
  static std::optional<std::vector<size_t>> map_hash(const Built& from, const plan::Project& project);
  /// A projection of `from` to `columns` (old numbers), in this order; `from` itself where it is that
  /// already.
  Built narrow(const Built& from, const std::vector<size_t>& columns, const plan::NodePtr& reader,
               const std::string& suffix) const;
  /// The edge to an operator with state by key: rows are narrowed before they are exchanged. An exchange is
  /// left out only where rows are distributed by the very same columns: the operator's key groups must be
  /// those of its subtask.
  Edge keyed_edge(const plan::NodePtr& node, const std::vector<size_t>& keys, size_t number = 0,
                  const std::string& suffix = "/input") const;
  std::vector<size_t> own_needs(const plan::NodePtr& node, size_t number) const;

  // Nodes that keep nothing (rebuild_rows.cc).
  void build(const plan::NodePtr& node, const plan::Scan& scan);
  void build(const plan::NodePtr& node, const plan::Filter& filter);
  void build(const plan::NodePtr& node, const plan::Project& project);
  /// Whether a projection gives other names, and nothing else, to all columns of a node that nobody else
  /// reads and that can bear other names.
  bool only_renames(const plan::NodePtr& node, const Built& from, const plan::Project& project) const;
  void build(const plan::NodePtr& node, const plan::Union&);
  void build(const plan::NodePtr& node, const plan::ReadTime& read);
  void build(const plan::NodePtr& node, const plan::Unnest& unnest);
  /// Of the table only the columns that are read; of the input all stay.
  void build(const plan::NodePtr& node, const plan::LookupJoin& lookup);
  /// A function of the program reads whole rows.
  void build(const plan::NodePtr& node, const plan::Function& function);
  void build(const plan::NodePtr& node, const plan::SinkWrite& sink);

  // Nodes with state by key (rebuild_keyed.cc).
  /// What passes the input's columns on, with `more` of its own behind them.
  Built with_more(const plan::NodePtr& node, const Edge& edge, size_t more, plan::Node& made) const;
  /// An operator that gives its input's columns with `more` behind them, and late rows as they came.
  void keep_with_late(const plan::NodePtr& node, const Edge& edge, plan::Detail detail, size_t more,
                      const std::vector<size_t>& keys);
  static void move_aggregates(std::vector<expr::Aggregate>& aggregates, const Built& from);
  void build(const plan::NodePtr& node, const plan::Deduplicate& dedup);
  static void move_references(expr::MatchValue& value, const Built& from);
  void build(const plan::NodePtr& node, const plan::Match& match);
  void build(const plan::NodePtr& node, const plan::OverAggregate& over);
  void build(const plan::NodePtr& node, const plan::TopN& top);
  void build(const plan::NodePtr& node, const plan::TimeSort& sort);
  void build(const plan::NodePtr& node, const plan::Materialize& materialize);
  void build(const plan::NodePtr& node, const plan::GroupAggregate& group);

  // Windows (rebuild_window.cc).
  /// A row of HOP or CUMULATE may miss some of its windows only, which partials do not tell. Sessions of a
  /// key are known where all of its rows meet.
  static bool takes_partials(const plan::WindowAggregate& window, bool late_read, bool hashed_before);
  void build(const plan::NodePtr& node, const plan::WindowAggregate& window);
  void build(const plan::NodePtr& node, const plan::WindowTopN& top);
  void build(const plan::NodePtr& node, const plan::SessionRows& session);

  // Joins (rebuild_join.cc).
  /// Both sides of a join, each narrowed and exchanged by its keys, and what becomes of the output's columns.
  struct Joined {
    std::array<Edge, 2> edges;
    Built main;
    std::vector<columnar::Field> fields;
    plan::JoinOn on;
    std::optional<size_t> rowtime;
  };
  Joined join_inputs(const plan::NodePtr& node, const plan::JoinOn& on) const;
  void keep_join(const plan::NodePtr& node, plan::Detail detail, Joined joined);
  void build(const plan::NodePtr& node, const plan::IntervalJoin& join);
  void build(const plan::NodePtr& node, const plan::WindowJoin& join);
  void build(const plan::NodePtr& node, const plan::RegularJoin& join);
  void build(const plan::NodePtr& node, const plan::TemporalJoin& join);

  const Requirements& required_;
  const OptimizeOptions& options_;
  std::map<const plan::Node*, int> readers_;
  std::map<const plan::Node*, std::map<Port, Built>> built_;
};

}  // namespace strand::sql
