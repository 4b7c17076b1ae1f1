// Window operators as a case configures them.
#pragma once

#include <memory>

#include "conformance/family.h"
#include "ops/stream/window_join.h"

namespace strand::conformance {

Result<std::unique_ptr<ops::StreamWindowOperator>> make_window(const Json& config, KeyGroupRange own);

/// Elements of the two inputs go through ops::of_side.
Result<std::unique_ptr<ops::StreamWindowOperator>> make_window_join(const Json& config, KeyGroupRange own);

}  // namespace strand::conformance
