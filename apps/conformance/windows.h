// Window operators as a case configures them.
#pragma once

#include <memory>

#include "conformance/family.h"
#include "ops/stream/window_operator.h"

namespace strand::conformance {

Result<std::unique_ptr<ops::StreamWindowOperator>> make_window(const Json& config, KeyGroupRange own);

}  // namespace strand::conformance
