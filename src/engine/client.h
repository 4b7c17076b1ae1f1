// Asks a running job.
#pragma once

#include <string>

#include "base/ids.h"
#include "engine/rest_file.h"
#include "env/env.h"

namespace strand::engine {

enum class Verb : uint8_t { kGet, kPost };

/// One request. The body of the answer, or the error that the job has answered. kNoSuchJob: no answer in
/// time.
Result<std::string> call(const Endpoint& endpoint, Verb verb, const std::string& path, Duration deadline);

/// Whether a job of this name answers there: another one may have taken the port of one that died.
bool answers(const Endpoint& endpoint);

/// Finds the job by its name, or the only one that runs, and asks it.
Result<std::string> ask_job(env::FileSystem& files, const std::string& state_root, const std::string& job,
                            Verb verb, const std::string& path, Duration deadline);

/// Reads the error that a server has answered.
Status error_from_json(const std::string& text);

}  // namespace strand::engine
