// HTTP on loopback: what a running job answers.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "engine/follow.h"
#include "engine/rest_file.h"
#include "engine/running_job.h"
#include "env/env.h"

namespace strand::engine {

/// `--ui HOST:PORT | PORT | off`.
struct UiOption {
  bool off = false;
  bool given = false;  // else the next free port is taken where this one is not
  std::string host = "127.0.0.1";
  int port = 8081;
  static constexpr int kLastPort = 8090;
};
/// Errors: kBadUsage. Only addresses of loopback: there is no authentication.
Result<UiOption> parse_ui(const std::string& text);

/// What the server needs of a job; every function may be called from any thread.
struct JobControl {
  std::function<JobView()> view;
  std::function<void(bool stop, bool drain, runtime::SavepointAnswer)> savepoint;
  const plan::Plan* plan = nullptr;
  int64_t memory_limit = INT64_MAX;
  /// Follows rows, with a folder to work in.
  std::function<Result<Followed>(const RowChoice&, const std::string& scratch_dir)> follow = {};
};
JobControl control_of(RunningJob& job);

/// Serves GET /status, /why, /ledger (text; `?json`; `?row=COLUMN=VALUE` follows it), /metrics, and POST
/// /savepoint, /stop (`?drain`), which wait until the savepoint is complete. Writes `run_dir/rest` while it
/// lives. A crash leaves that file; whoever reads it asks before it believes. The destructor waits for
/// requests under way.
class ControlServer {
 public:
  /// Errors: kPortInUse where `ui.given`.
  static Result<std::unique_ptr<ControlServer>> start(JobControl control, const UiOption& ui, std::string job,
                                                      std::string run_dir, int64_t pid, env::Env env);
  ~ControlServer();
  ControlServer(const ControlServer&) = delete;
  ControlServer& operator=(const ControlServer&) = delete;
  const Endpoint& endpoint() const;

 private:
  struct Parts;
  explicit ControlServer(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace strand::engine
