#include "runtime/graph.h"

#include <algorithm>
#include <set>

namespace strand::runtime {

namespace {

/// Whether every subtask of the node sees the watermarks of all sources: there is an exchange above it.
bool behind_exchange(const Graph& graph, size_t index) {
  for (const GraphNode::Edge& edge : graph.nodes[index].inputs) {
    if (!edge.keys.empty() || edge.broadcast || behind_exchange(graph, edge.from)) return true;
  }
  return false;
}

class GraphMaker {
 public:
  GraphMaker(const plan::Plan& plan, int32_t parallelism, const connect::Registry& registry,
             const std::set<std::string>& split)
      : plan_(plan), parallelism_(parallelism), registry_(registry), split_(split) {}

  Result<Graph> make() {
    const std::vector<plan::NodePtr> nodes = plan_.nodes();
    for (const plan::NodePtr& node : nodes) {
      for (const plan::Input& input : node->inputs) read_.insert({input.node.get(), input.port});
    }
    for (const plan::NodePtr& node : nodes) STRAND_OK(add(node));
    assign_stages();
    return std::move(graph_);
  }

 private:
  Status add(const plan::NodePtr& node) {
    GraphNode out;
    out.node = node;
    out.id = node->id;
    STRAND_TRY(out.parallelism, parallelism_of(*node));
    for (const plan::Input& input : node->inputs) {
      const size_t from = graph_index(input);
      const bool exchange = out.parallelism > 1 && !input.hash_keys.empty();
      STRAND_TRY(const bool one, always_one(*node, input));
      out.inputs.push_back({from, input.port, exchange ? input.hash_keys : std::vector<size_t>{}, false,
                            input.number, input.groups, input.broadcast && out.parallelism > 1,
                            !input.broadcast && (one || !input.hash_keys.empty()), input.hash_keys});
    }
    if (std::holds_alternative<plan::WindowAggregate>(node->detail) &&
        (split_.contains(out.id) || wants_partials(out))) {
      split_window(std::move(out));
      return Status();
    }
    main_[node.get()] = graph_.nodes.size();
    graph_.nodes.push_back(std::move(out));
    return Status();
  }

  size_t graph_index(const plan::Input& input) const {
    const auto late = late_.find(input.node.get());
    return input.port == Port::kLate && late != late_.end() ? late->second : main_.at(input.node.get());
  }

  /// Rows that are not exchanged stay in their subtask: their reader has as many.
  Result<int32_t> parallelism_of(const plan::Node& node) const {
    int32_t of_inputs = node.inputs.empty() ? parallelism_ : 1;
    for (const plan::Input& input : node.inputs) {
      if (input.single) return 1;
      const bool spread = !input.hash_keys.empty() || input.broadcast;
      of_inputs = std::max(of_inputs, spread ? parallelism_ : graph_.nodes[graph_index(input)].parallelism);
    }
    const auto* sink = std::get_if<plan::SinkWrite>(&node.detail);
    if (sink == nullptr) return of_inputs;
    STRAND_TRY(const connect::Connector* connector,
               registry_.find(sink->table.options, connect::TableUse::kWrite));
    return connector->parallel_sink ? of_inputs : 1;
  }

  /// One subtask reads the input, whatever the parallelism.
  Result<bool> always_one(const plan::Node& node, const plan::Input& input) const {
    const auto* sink = std::get_if<plan::SinkWrite>(&node.detail);
    if (sink == nullptr) return input.single;
    STRAND_TRY(const connect::Connector* connector,
               registry_.find(sink->table.options, connect::TableUse::kWrite));
    return !connector->parallel_sink;
  }

  bool wants_partials(const GraphNode& window) {
    const auto& detail = std::get<plan::WindowAggregate>(window.node->detail);
    if (!detail.pre_aggregate) return false;
    const bool exchange = !window.inputs[0].keys.empty();
    if (!exchange) return detail.pre_aggregate->millis > 0;
    return read_.count({window.node.get(), Port::kLate}) == 0 ||
           behind_exchange(graph_, window.inputs[0].from);
  }

  void split_window(GraphNode window) {
    const auto& detail = std::get<plan::WindowAggregate>(window.node->detail);
    GraphNode partial = window;
    partial.id = window.id + kPartialSuffix;
    partial.partial = true;
    partial.inputs[0].keys.clear();
    partial.inputs[0].overtakable = false;
    partial.inputs[0].partition.clear();
    partial.parallelism = graph_.nodes[partial.inputs[0].from].parallelism;
    late_[window.node.get()] = graph_.nodes.size();
    const bool hold = behind_exchange(graph_, window.inputs[0].from);
    graph_.nodes.push_back(std::move(partial));

    std::vector<size_t> keys;
    if (!window.inputs[0].keys.empty()) {
      for (size_t i = 0; i < detail.keys.size(); ++i) keys.push_back(i);
    }
    GraphNode::Edge edge{graph_.nodes.size() - 1, Port::kMain, std::move(keys), hold};
    edge.overtakable = window.inputs[0].overtakable;
    for (size_t i = 0; edge.overtakable && i < detail.keys.size(); ++i) edge.partition.push_back(i);
    window.inputs = {std::move(edge)};
    window.partial_input = true;
    main_[window.node.get()] = graph_.nodes.size();
    graph_.nodes.push_back(std::move(window));
  }

  void assign_stages() {
    for (GraphNode& node : graph_.nodes) {
      bool fused = !node.inputs.empty() && !std::holds_alternative<plan::SinkWrite>(node.node->detail);
      for (const GraphNode::Edge& edge : node.inputs) {
        const GraphNode& from = graph_.nodes[edge.from];
        fused = fused && edge.keys.empty() && !edge.broadcast && from.parallelism == node.parallelism &&
                from.stage == graph_.nodes[node.inputs[0].from].stage;
      }
      node.stage = fused ? graph_.nodes[node.inputs[0].from].stage : graph_.stages++;
    }
  }

  const plan::Plan& plan_;
  int32_t parallelism_;
  const connect::Registry& registry_;
  const std::set<std::string>& split_;
  Graph graph_;
  std::map<const plan::Node*, size_t> main_;
  std::map<const plan::Node*, size_t> late_;
  std::set<std::pair<const plan::Node*, Port>> read_;
};

}  // namespace

Result<Graph> make_graph(const plan::Plan& plan, int32_t parallelism, const connect::Registry& registry,
                         const std::set<std::string>& split) {
  return GraphMaker(plan, parallelism, registry, split).make();
}

}  // namespace strand::runtime
