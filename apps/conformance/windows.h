// Window operators as a case configures them.
#pragma once

#include <memory>

#include "conformance/family.h"
#include "ops/stream/window_join.h"

namespace strand::conformance {

Result<std::unique_ptr<ops::StreamWindowOperator>> make_window(const Json& config, KeyGroupRange own,
                                                               const time::Floor& floor);

/// Elements of the two inputs go through ops::of_side.
Result<std::unique_ptr<ops::StreamWindowOperator>> make_window_join(const Json& config, KeyGroupRange own,
                                                                    const time::Floor& floor);

}  // namespace strand::conformance
