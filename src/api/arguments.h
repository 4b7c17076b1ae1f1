// What a program may say to windows, watermarks and joins.
#pragma once

#include "base/status.h"
#include "strandline/job.h"
#include "strandline/stream.h"

namespace strand::api {

// Each names the argument, what it expects and what was found. Unchecked, such values would end the process,
// fire for ever or keep state for good. Sources of the limits: Flink's checks of the same arguments.

/// Lateness, trigger and evictor; sizes and gaps are checked where windows are made. Errors: kBadWindow.
Status check_arguments(const strandline::detail::WindowSpec& spec);
/// Errors: kBadOption.
Status check_arguments(const strandline::detail::WatermarkSpec& spec);
Status check_arguments(const strandline::EventTime& event_time);
Status check_arguments(const strandline::detail::IntervalJoinSpec& spec);
Status check_arguments(const strandline::Retention& retention);
Status check_arguments(const strandline::StateTtl& ttl, const std::string& state);

}  // namespace strand::api
