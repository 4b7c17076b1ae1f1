// What is told of a record that was followed.
#pragma once

#include <string>
#include <vector>

#include "engine/follow.h"
#include "engine/reports/books.h"

namespace strand::engine {

/// A line for each place in the input and each operator, in the order of the plan. `view` is the running job:
/// it knows which windows have closed, and whether rows were late.
std::vector<std::string> followed_lines(const Followed& followed, const JobView& view, const plan::Plan& plan,
                                        WallTime now);
std::string followed_json(const RowChoice& row, const Followed& followed, const JobView& view,
                          const plan::Plan& plan, WallTime now);

}  // namespace strand::engine
