#include "engine/server.h"

#include <httplib.h>

#include <atomic>
#include <charconv>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "engine/follow_text.h"
#include "engine/reports/ledger.h"
#include "engine/reports/metrics.h"
#include "engine/reports/status.h"
#include "engine/reports/why.h"

namespace strand::engine {

namespace {

constexpr size_t kConnectionsMax = 64;
constexpr auto kAnswerSlice = std::chrono::milliseconds(50);
constexpr auto kSavepointMax = std::chrono::minutes(30);

const char* const kText = "text/plain; charset=utf-8";
const char* const kJson = "application/json";

/// Without SO_REUSEPORT, which would let two jobs share a port and answer by chance.
void own_port(socket_t socket) {
  const int yes = 1;
  ::setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
}

/// A thread for each connection, so that nobody waits for a slow client or for somebody's savepoint. Beyond
/// kConnectionsMax, connections wait for one of them to end.
class Connections final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> serve) override {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return open_ < kConnectionsMax || ending_; });
    ++open_;
    std::thread([this, serve = std::move(serve)] {
      serve();
      const std::lock_guard ended(mutex_);
      --open_;
      changed_.notify_all();
    }).detach();
  }
  void shutdown() override {
    std::unique_lock lock(mutex_);
    ending_ = true;
    changed_.notify_all();
    changed_.wait(lock, [this] { return open_ == 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  size_t open_ = 0;
  bool ending_ = false;
};

/// The answer to a savepoint, waited for by a request.
struct Waiting {
  std::mutex mutex;
  std::condition_variable changed;
  bool answered = false;
  Status status;
  std::string path;
};

std::string error_json(const Status& status) {
  nlohmann::ordered_json json;
  json["code"] = static_cast<int>(status.code());
  json["message"] = status.message();
  json["where"] = status.where();
  json["hint"] = status.hint();
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace

Result<UiOption> parse_ui(const std::string& text) {
  UiOption out;
  out.given = true;
  if (text == "off") {
    out.off = true;
    return out;
  }
  const size_t colon = text.rfind(':');
  const std::string port = colon == std::string::npos ? text : text.substr(colon + 1);
  if (colon != std::string::npos) out.host = text.substr(0, colon);
  const auto [end, error] = std::from_chars(port.data(), port.data() + port.size(), out.port);
  const bool number = error == std::errc() && end == port.data() + port.size();
  if (!number || out.port < 1 || out.port > 65535) {
    return Status(ErrorCode::kBadUsage, "--ui expects ADDRESS:PORT or off, found '" + text + "'")
        .hint("for example --ui 127.0.0.1:8085");
  }
  if (out.host != "127.0.0.1" && out.host != "localhost" && out.host != "::1") {
    return Status(ErrorCode::kBadUsage, "--ui expects an address of loopback, found '" + out.host + "'")
        .hint("whoever reaches the port may stop the job: use 127.0.0.1, and a proxy that asks who comes");
  }
  return out;
}

JobControl control_of(RunningJob& job) {
  return {[&job] { return job.view(); },
          [&job](bool stop, bool drain, runtime::SavepointAnswer answer) {
            job.savepoint(stop, drain, std::move(answer));
          },
          &job.plan(), job.options().memory_limit,
          [&job](const RowChoice& row, const std::string& scratch_dir) {
            return follow(job.plan(), row, job.registry(), scratch_dir, this_machine(), job.env());
          }};
}

struct ControlServer::Parts {
  JobControl control;
  Endpoint endpoint;
  std::string run_dir;
  env::Env env;
  httplib::Server http;
  std::thread thread;
  std::atomic<bool> ending{false};
  std::mutex following;

  WallTime now() const { return env.clock->now(); }

  Status bind(const UiOption& ui) {
    http.set_socket_options(own_port);
    for (int port = ui.port; port <= std::max(ui.port, ui.given ? ui.port : UiOption::kLastPort); ++port) {
      if (!http.bind_to_port(ui.host, port)) continue;
      endpoint.port = port;
      return Status();
    }
    if (!ui.given) {
      const int any = http.bind_to_any_port(ui.host);
      if (any > 0) {
        endpoint.port = any;
        return Status();
      }
    }
    return Status(ErrorCode::kPortInUse,
                  "expected a free port, found " + ui.host + ":" + std::to_string(ui.port) + " taken")
        .at("--ui")
        .hint(
            "name another one, leave --ui out for the next free one from 8081, or turn it off with --ui off");
  }

  using Report = std::function<std::string(const JobView&, bool json)>;
  void serve(const char* path, Report report) {
    http.Get(path, [this, report = std::move(report)](const httplib::Request& request,
                                                      httplib::Response& response) {
      const bool json = request.has_param("json");
      response.set_content(report(control.view(), json), json ? kJson : kText);
    });
  }

  void refuse(httplib::Response& response, const Status& status) {
    response.status = 409;
    response.set_content(error_json(status), kJson);
  }

  /// One at a time: it reads the whole input.
  void follow_row(const std::string& text, httplib::Response& response) {
    const auto row = parse_row(*control.plan, text);
    if (!row.ok()) return refuse(response, row.status());
    const std::lock_guard one(following);
    const std::string scratch = run_dir + "/follow";
    const auto followed = control.follow(*row, scratch);
    const Status removed = env.files->remove_all(scratch);
    if (!followed.ok()) return refuse(response, followed.status());
    if (!removed.ok()) return refuse(response, removed);
    response.set_content(followed_json(*row, *followed, control.view(), *control.plan, now()), kJson);
  }

  /// Waits in slices, so that a job that ends meanwhile does not wait for this request for ever.
  void savepoint(bool stop, bool drain, httplib::Response& response) {
    auto waiting = std::make_shared<Waiting>();
    control.savepoint(stop, drain, [waiting](Status status, std::string path) {
      const std::lock_guard lock(waiting->mutex);
      waiting->answered = true;
      waiting->status = std::move(status);
      waiting->path = std::move(path);
      waiting->changed.notify_all();
    });
    std::unique_lock lock(waiting->mutex);
    for (auto waited = kAnswerSlice; !waiting->answered && !ending && waited < kSavepointMax;
         waited += kAnswerSlice) {
      waiting->changed.wait_for(lock, kAnswerSlice);
    }
    if (!waiting->answered) {
      return refuse(response,
                    Status(ErrorCode::kNoSuchJob, "the job ended before the savepoint was complete"));
    }
    if (!waiting->status.ok()) return refuse(response, waiting->status);
    response.set_content(nlohmann::json{{"savepoint", waiting->path}}.dump() + "\n", kJson);
  }

  void add_routes() {
    using namespace reports;
    serve("/status", [this](const JobView& view, bool json) {
      return json ? status_json(view, *control.plan, now()) : status_text(view, *control.plan, now());
    });
    serve("/why", [this](const JobView& view, bool json) {
      return json ? why_json(view, *control.plan, control.memory_limit, now())
                  : why_text(view, *control.plan, control.memory_limit, now());
    });
    http.Get("/ledger", [this](const httplib::Request& request, httplib::Response& response) {
      if (request.has_param("row")) return follow_row(request.get_param_value("row"), response);
      const JobView view = control.view();
      const bool json = request.has_param("json");
      const std::string text = !view.attempt ? status_text(view, *control.plan, now())
                               : json        ? ledger_json(view, *control.plan, now())
                                             : ledger_text(view, *control.plan, now());
      response.set_content(text, json ? kJson : kText);
    });
    serve("/", [this](const JobView& view, bool) {
      return status_text(view, *control.plan, now()) + "\n" +
             why_text(view, *control.plan, control.memory_limit, now()) +
             "\nGET /status /why /ledger (?json) /metrics   POST /savepoint /stop (?drain)\n";
    });
    http.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
      response.set_content(metrics_text(control.view(), *control.plan, now()), "text/plain; version=0.0.4");
    });
    http.Post("/savepoint", [this](const httplib::Request&, httplib::Response& response) {
      savepoint(false, false, response);
    });
    http.Post("/stop", [this](const httplib::Request& request, httplib::Response& response) {
      savepoint(true, request.has_param("drain"), response);
    });
  }
};

ControlServer::ControlServer(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {}

Result<std::unique_ptr<ControlServer>> ControlServer::start(JobControl control, const UiOption& ui,
                                                            std::string job, std::string run_dir, int64_t pid,
                                                            env::Env env) {
  auto parts = std::make_unique<Parts>();
  parts->control = std::move(control);
  parts->endpoint = {std::move(job), ui.host, 0, pid};
  parts->run_dir = std::move(run_dir);
  parts->env = env;
  parts->http.new_task_queue = [] { return new Connections; };
  parts->http.set_keep_alive_max_count(1);
  STRAND_OK(parts->bind(ui));
  parts->add_routes();
  STRAND_OK(env::write_atomically(*env.files, parts->run_dir, kRestFile, to_text(parts->endpoint)));
  parts->thread = std::thread([&http = parts->http] { http.listen_after_bind(); });
  while (!parts->http.is_running()) std::this_thread::yield();
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(parts)));
}

ControlServer::~ControlServer() {
  // Whoever finds the file behind a job that has ended is told so by the silence of its port.
  const Status removed = parts_->env.files->remove(parts_->run_dir + "/" + kRestFile);
  static_cast<void>(removed);
  parts_->ending = true;
  parts_->http.stop();
  parts_->thread.join();
}

const Endpoint& ControlServer::endpoint() const { return parts_->endpoint; }

}  // namespace strand::engine
