#include "engine/rest_file.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace strand::engine {

namespace {

constexpr uint64_t kFileBytesMax = 4096;

Status no_such_job(std::string message, std::string hint) {
  return Status(ErrorCode::kNoSuchJob, std::move(message)).hint(std::move(hint));
}

std::string names(const std::vector<Endpoint>& endpoints) {
  std::string text;
  for (const Endpoint& e : endpoints) text += (text.empty() ? "" : ", ") + e.job + " (" + e.address() + ")";
  return text;
}

Status none_runs(const KnownJobs& known) {
  std::string text = "no job runs with its state in " + known.state_root;
  for (const LastEnd& end : known.ended) text += "\n    " + end.job + " " + end.how;
  return no_such_job(std::move(text),
                     known.ended.empty()
                         ? "name the folder with --state if the job was started with it"
                         : "strandline run goes on where a job has ended; name another folder "
                           "with --state");
}

Status unknown_job(const KnownJobs& known, const std::string& job, const Alive& alive) {
  std::vector<std::string> jobs;
  for (const Endpoint& endpoint : known.endpoints) {
    if (alive(endpoint)) jobs.push_back(endpoint.job);
  }
  std::string hint =
      "name the folder with --state if the job was started with it; with --ui off it cannot be asked";
  if (const auto near = nearest(job, jobs)) {
    hint = "did you mean " + *near + "?";
  } else if (!jobs.empty()) {
    hint = "here run: " + jobs[0];
    for (size_t i = 1; i < jobs.size(); ++i) hint += ", " + jobs[i];
  }
  return no_such_job("no job '" + job + "' runs with its state in " + known.state_root, std::move(hint));
}

}  // namespace

std::string to_text(const Endpoint& endpoint) {
  nlohmann::ordered_json json;
  json["job"] = endpoint.job;
  json["host"] = endpoint.host;
  json["port"] = endpoint.port;
  json["pid"] = endpoint.pid;
  return json.dump() + "\n";
}

std::optional<Endpoint> parse_endpoint(const std::string& text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return std::nullopt;
  const auto job = json.find("job");
  const auto host = json.find("host");
  const auto port = json.find("port");
  const auto pid = json.find("pid");
  if (job == json.end() || !job->is_string() || host == json.end() || !host->is_string()) return std::nullopt;
  if (port == json.end() || !port->is_number_integer() || pid == json.end() || !pid->is_number_integer())
    return std::nullopt;
  return Endpoint{job->get<std::string>(), host->get<std::string>(), port->get<int>(), pid->get<int64_t>()};
}

std::vector<Endpoint> list_endpoints(env::FileSystem& files, const std::string& state_root) {
  std::vector<Endpoint> out;
  const auto folders = files.list(state_root);
  if (!folders.ok()) return out;
  for (const env::FileInfo& folder : *folders) {
    if (!folder.is_dir) continue;
    const auto text =
        env::read_all(files, state_root + "/" + folder.name + "/run/" + kRestFile, kFileBytesMax);
    if (!text.ok()) continue;
    if (auto endpoint = parse_endpoint(*text)) out.push_back(*std::move(endpoint));
  }
  return out;
}

Result<KnownJobs> known_jobs(env::FileSystem& files, const std::string& state_root) {
  const auto listed = files.list(state_root);
  if (!listed.ok() && listed.status().code() != ErrorCode::kFileNotFound) return listed.status();
  return KnownJobs{state_root, list_endpoints(files, state_root), list_last_ends(files, state_root)};
}

Result<Endpoint> find_endpoint(const KnownJobs& known, const std::string& job, const Alive& alive) {
  std::vector<Endpoint> running;
  for (const Endpoint& endpoint : known.endpoints) {
    if ((job.empty() || endpoint.job == job) && alive(endpoint)) running.push_back(endpoint);
  }
  if (running.size() == 1) return running[0];
  if (running.size() > 1) {
    return no_such_job("expected the name of a job, because several run here: " + names(running),
                       "name one of them");
  }
  if (job.empty()) return none_runs(known);
  const auto stale = std::find_if(known.endpoints.begin(), known.endpoints.end(),
                                  [&](const Endpoint& e) { return e.job == job; });
  if (stale != known.endpoints.end()) {
    return no_such_job(
        "job '" + job + "' does not answer at " + stale->address() + " (pid " + std::to_string(stale->pid) +
            ")",
        "it has ended without cleaning up, or is stopped; `strandline run` goes on from its state");
  }
  const auto ended = std::find_if(known.ended.begin(), known.ended.end(),
                                  [&](const LastEnd& end) { return end.job == job; });
  if (ended != known.ended.end())
    return no_such_job("job '" + job + "' does not run: it " + ended->how, ended->hint);
  return unknown_job(known, job, alive);
}

}  // namespace strand::engine
