// The small programs that elements of the process families carry.
#pragma once

#include <memory>

#include "conformance/family.h"
#include "ops/stream/process_operator.h"

namespace strand::conformance {

std::unique_ptr<ops::KeyedFunction> make_program(const Json& config);
std::unique_ptr<ops::BroadcastFunction> make_broadcast_program(const Json& config);

}  // namespace strand::conformance
