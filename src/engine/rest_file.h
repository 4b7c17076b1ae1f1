// Where a running job can be reached: `JOB/run/rest`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
#include "engine/last_end.h"
#include "env/env.h"

namespace strand::engine {

/// Address and process of a running job. The file says where to ask; only an answer proves that the job runs.
struct Endpoint {
  std::string job;
  std::string host;
  int port = 0;
  int64_t pid = 0;
  std::string address() const { return host + ":" + std::to_string(port); }
  friend bool operator==(const Endpoint&, const Endpoint&) = default;
};

inline constexpr const char* kRestFile = "rest";

std::string to_text(const Endpoint& endpoint);
std::optional<Endpoint> parse_endpoint(const std::string& text);

/// Endpoints that jobs under a state root have written, by job; files that cannot be read are left out.
std::vector<Endpoint> list_endpoints(env::FileSystem& files, const std::string& state_root);

/// Whether the job of an endpoint answers.
using Alive = std::function<bool(const Endpoint&)>;
/// What is known of the jobs below a state root.
struct KnownJobs {
  std::string state_root;
  std::vector<Endpoint> endpoints;
  std::vector<LastEnd> ended;
};
/// Errors: those of listing the root, unless there is none.
Result<KnownJobs> known_jobs(env::FileSystem& files, const std::string& state_root);
/// The endpoint of `job`, or of the only job that answers where `job` is empty. kNoSuchJob: none answers, or
/// several do; the message names them, and how they have ended.
Result<Endpoint> find_endpoint(const KnownJobs& known, const std::string& job, const Alive& alive);

}  // namespace strand::engine
