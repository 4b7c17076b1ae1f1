#include "engine/client.h"

#include <httplib.h>

#include <nlohmann/json.hpp>

namespace strand::engine {

namespace {

/// A port on which nobody listens says so at once: only a process that hangs, or a busy machine, takes long.
constexpr Duration kProbe{10'000};

Status no_answer(const Endpoint& endpoint, const std::string& found) {
  return Status(ErrorCode::kNoSuchJob, "expected an answer of job '" + endpoint.job + "' at " +
                                           endpoint.address() + ", found " + found)
      .hint("see whether process " + std::to_string(endpoint.pid) + " lives");
}

bool is_known(int code) {
  for (const ErrorInfo& info : all_errors()) {
    if (static_cast<int>(info.code) == code) return true;
  }
  return false;
}

}  // namespace

Status error_from_json(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object() || !json.contains("message") || !json["message"].is_string()) {
    return Status(ErrorCode::kInternal, "an answer that is no error: " + text.substr(0, 200));
  }
  const int code = json.contains("code") && json["code"].is_number_integer() ? json["code"].get<int>() : 0;
  Status status(is_known(code) ? static_cast<ErrorCode>(code) : ErrorCode::kInternal,
                json["message"].get<std::string>());
  if (json.contains("where") && json["where"].is_string()) {
    status = std::move(status).at(json["where"].get<std::string>());
  }
  if (json.contains("hint") && json["hint"].is_string())
    status = std::move(status).hint(json["hint"].get<std::string>());
  return status;
}

Result<std::string> call(const Endpoint& endpoint, Verb verb, const std::string& path, Duration deadline) {
  httplib::Client http(endpoint.host, endpoint.port);
  http.set_connection_timeout(std::chrono::milliseconds(std::min(deadline.millis, kProbe.millis)));
  http.set_read_timeout(std::chrono::milliseconds(deadline.millis));
  const httplib::Result result = verb == Verb::kGet ? http.Get(path) : http.Post(path);
  if (!result) return no_answer(endpoint, httplib::to_string(result.error()));
  if (result->status == 200) return result->body;
  if (result->status == 409) return error_from_json(result->body);
  return no_answer(endpoint, "HTTP status " + std::to_string(result->status));
}

bool answers(const Endpoint& endpoint) {
  const auto text = call(endpoint, Verb::kGet, "/status?json", kProbe);
  if (!text.ok()) return false;
  const auto json = nlohmann::json::parse(*text, nullptr, false);
  return json.is_object() && json.value("job", "") == endpoint.job;
}

Result<std::string> ask_job(env::FileSystem& files, const std::string& state_root, const std::string& job,
                            Verb verb, const std::string& path, Duration deadline) {
  STRAND_TRY(const KnownJobs known, known_jobs(files, state_root));
  STRAND_TRY(const Endpoint endpoint, find_endpoint(known, job, answers));
  return call(endpoint, verb, path, deadline);
}

}  // namespace strand::engine
