// From a node of the graph to the operator that executes it.
#pragma once

#include <memory>

#include "flow/operator.h"
#include "runtime/graph.h"
#include "runtime/tables.h"

namespace strand::runtime {

/// Whether the operator's state and floor belong to key groups (else every subtask restores the lowest floor
/// of all).
bool is_keyed(const GraphNode& node);

Result<std::unique_ptr<flow::Operator>> build_operator(const GraphNode& node, const std::string& zone,
                                                       const Defences& defences, const Tables& tables,
                                                       const plan::FunctionOptions& functions);

}  // namespace strand::runtime
