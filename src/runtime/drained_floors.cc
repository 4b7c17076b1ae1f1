#include "runtime/drained_floors.h"

#include <algorithm>

namespace strand::runtime {

namespace {

/// Raises every floor of the operator to `least`, and returns the highest.
EventTime raise(std::vector<checkpoint::OperatorPart>& parts, EventTime least) {
  EventTime highest = least;
  for (checkpoint::OperatorPart& part : parts) {
    for (checkpoint::FloorPart& floor : part.floors) {
      floor.floor = std::max(floor.floor, least);
      highest = std::max(highest, floor.floor);
    }
  }
  return highest;
}

bool closes_windows(const plan::Detail& detail) {
  const auto* function = std::get_if<plan::Function>(&detail);
  return std::holds_alternative<plan::WindowAggregate>(detail) ||
         (function != nullptr && function->waits_for_time);
}

}  // namespace

void raise_drained_floors(const Graph& graph, checkpoint::Manifest& manifest) {
  std::vector<EventTime> closed_behind(graph.nodes.size(), EventTime::min());
  for (size_t i = graph.nodes.size(); i-- > 0;) {
    const GraphNode& node = graph.nodes[i];
    EventTime closed = closed_behind[i];
    if (closes_windows(node.node->detail)) {
      closed = raise(manifest.operators[node.id], closed);
    }
    for (const GraphNode::Edge& edge : node.inputs) {
      if (edge.port == Port::kMain) closed_behind[edge.from] = std::max(closed_behind[edge.from], closed);
    }
  }
}

}  // namespace strand::runtime
