// The same job with other tables at its ends.
#pragma once

#include <functional>

#include "plan/plan.h"

namespace strand::plan {

/// Copies a plan and lets `read` and `write` change its scans and sinks. Nodes that several readers share
/// stay shared; node ids stay, so state fits both. `plan` is not touched.
Plan with_ends(const Plan& plan, const std::function<void(Scan&)>& read,
               const std::function<void(SinkWrite&)>& write);

/// The same of any node. Those in front of it are done when it is changed, so that others may be put in
/// between.
Plan with_nodes(const Plan& plan, const std::function<void(Node&)>& change);

}  // namespace strand::plan
