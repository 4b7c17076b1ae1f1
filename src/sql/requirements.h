// Which columns of each output somebody reads.
#pragma once

#include <map>
#include <set>
#include <vector>

#include "plan/plan.h"

namespace strand::sql {

using ColumnSet = std::set<size_t>;

/// Of every port that has a reader: its columns that are read. Never empty, so that rows can be counted.
using Requirements = std::map<const plan::Node*, std::map<Port, ColumnSet>>;

/// The columns of one of its inputs that a node reads, where `ports` is what is read of it.
ColumnSet input_columns(const plan::Node& node, const std::map<Port, ColumnSet>& ports, size_t input = 0);

Requirements requirements_of(const std::vector<plan::NodePtr>& sinks);

}  // namespace strand::sql
