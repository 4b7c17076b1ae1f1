// Joins two streams of the C++ API in windows.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "ops/stream/window_operator.h"

namespace strand::ops {

/// A join of two streams is a window over both: one watermark, one lateness, one trigger. What tells the
/// sides apart travels in front of the payload. Every element goes through `of_side` before it reaches the
/// operator, late ones too, and `without_side` gives it back.
enum class JoinSide : char { kLeft = 'l', kRight = 'r' };
Record of_side(JoinSide side, Record record);
Record without_side(Record record);

/// Called once a firing with the elements of both sides in the order in which they came; either may be empty.
using CoGroupFunction =
    std::function<Status(const Firing&, const std::vector<Record>& left, const std::vector<Record>& right)>;
/// Called for each pair, left-major.
using JoinFunction = std::function<Status(const Firing&, const Record& left, const Record& right)>;
CoGroupFunction each_pair(JoinFunction function);

/// The options of a window operator over both sides; `gap_of` sees elements as they were.
/// Source: Flink CoGroupedStreams, JoinedStreams.
StreamWindowOptions window_join_options(StreamWindowOptions options, CoGroupFunction function,
                                        std::optional<window::EvictorOptions> evictor);

}  // namespace strand::ops
