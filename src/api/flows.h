// The operators that run code of the program.
#pragma once

#include <memory>

#include "api/elements.h"
#include "api/job_state.h"
#include "flow/operator.h"
#include "strandline/detail/build.h"

namespace strand::api {

using OperatorPtr = std::unique_ptr<flow::Operator>;

OperatorPtr make_filter_flow(const RowType& type, std::function<bool(const void*)> condition);
/// Appends key group and key.
OperatorPtr make_key_by_flow(const RowType& type, strandline::detail::KeyOf key_of);
/// A function of any kind but windows.
OperatorPtr make_function_flow(const strandline::detail::FunctionSpec& spec,
                               std::shared_ptr<const SideOutputs> sides,
                               const plan::FunctionOptions& options);
/// Errors: kBadWindow, kBadUsage.
Result<OperatorPtr> make_window_flow(const strandline::detail::WindowSpec& spec,
                                     const plan::FunctionOptions& options);
/// `tick`: pipeline.auto-watermark-interval.
OperatorPtr make_assign_flow(const RowType& type, strandline::detail::WatermarkSpec spec, Duration tick);
/// Behind an interval join: calls `pair` for each of its rows.
OperatorPtr make_pair_flow(const strandline::detail::IntervalJoinSpec& spec);

}  // namespace strand::api
