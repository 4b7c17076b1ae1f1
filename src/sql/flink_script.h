// A script as a Flink cluster takes it.
#pragma once

#include <string>

#include "base/status.h"
#include "sql/compile.h"

namespace strand::sql {

/// The script with what profiles and the command line say written into it: settings in front, each table with
/// its own options and watermark. What Flink has no words for and can do without (`strand.` options and
/// settings, names of writers, BEGIN STATEMENT SET) is gone; for_flink() of the result says what is left.
/// Text that needs no change, comments too, stays as it is. Values that may be secrets are `****`. Errors:
/// those of the parser.
Result<std::string> flink_script(const SqlInput& input);

}  // namespace strand::sql
