// Where a running job can be reached: `JOB/run/rest`.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "base/status.h"
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
/// The endpoint of `job`, or of the only job that answers where `job` is empty. kNoSuchJob: none answers, or
/// several do; the message names them.
Result<Endpoint> find_endpoint(const std::vector<Endpoint>& known, const std::string& job, const Alive& alive,
                               const std::string& state_root);

}  // namespace strand::engine
