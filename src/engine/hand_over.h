// A sink in this process: each batch is given to a function at once.
#pragma once

#include <functional>
#include <memory>

#include "flow/sink.h"

namespace strand::engine {

using TakeRows = std::function<Status(const flow::Batch& rows)>;

/// Nothing is kept, nothing is undone: after a crash rows since the last checkpoint are given again.
std::unique_ptr<flow::Sink> make_hand_over_sink(TakeRows take);

}  // namespace strand::engine
