// Which sources and sinks of a job its state folder has been started with.
#pragma once

#include "base/status.h"
#include "env/env.h"
#include "plan/plan.h"

namespace strand::engine {

/// Whether a job with these watermarks, places and keys has started from this folder before: then somebody
/// has decided so, and a crash behind that start must not ask again.
bool ends_accepted(env::FileSystem& files, const std::string& run_folder, const plan::Plan& plan);
/// Remembers it, beside the job's lock; replaced as a whole.
Status accept_ends(env::FileSystem& files, const std::string& run_folder, const plan::Plan& plan);

}  // namespace strand::engine
