// What a run shows: events as lines, and how far it is.
#pragma once

#include <condition_variable>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "engine/running_job.h"
#include "obs/events.h"
#include "obs/log.h"

namespace strand::engine {

/// A terminal: events scroll by, the last line is rewritten in place. Thread-safe. What it prints never fails
/// the job.
class Console final : public obs::EventSink {
 public:
  Console(std::FILE* out, obs::Level lowest, std::string job)
      : out_(out), lowest_(lowest), job_(std::move(job)) {}
  /// Leaves the last line standing.
  ~Console() override { keep(); }
  void keep();
  void on_event(obs::Event event) override;
  /// Replaces the last line.
  void show(const std::string& line);

 private:
  void erase();
  std::FILE* out_;
  obs::Level lowest_;
  std::string job_;
  std::mutex mutex_;
  std::string last_;
};

/// Columns of the terminal behind `out`, 80 where that is not known.
size_t terminal_width(std::FILE* out);
bool is_terminal(std::FILE* out);

/// Calls `report` every `every` of steady time until it is destroyed.
class Ticker {
 public:
  Ticker(Duration every, std::function<void()> report);
  ~Ticker();

 private:
  void run(Duration every, const std::function<void()>& report);
  std::mutex mutex_;
  std::condition_variable changed_;
  bool over_ = false;
  std::thread thread_;
};

/// How a run is reported.
struct LogOptions {
  obs::LogFormat format = obs::LogFormat::kLogfmt;
  bool format_given = false;  // then also on a terminal
  obs::Level level = obs::Level::kInfo;
};
/// Of --log-format (empty: none given) and $STRANDLINE_LOG. Errors: kBadUsage.
Result<LogOptions> log_options(const std::string& format,
                               const std::map<std::string, std::string>& environment);

/// Where the events of one run go: a terminal or a pipe, and the line that tells how far it is.
class RunReport {
 public:
  RunReport(std::FILE* out, const LogOptions& options, std::string job);
  obs::EventSink& events() { return console_ ? static_cast<obs::EventSink&>(*console_) : *log_; }
  /// From now on until destroyed. `job` must outlive it.
  void follow(const RunningJob& job, env::Clock& clock);
  /// Tells once more how far it came; afterwards other text may follow.
  void end();

  static constexpr Duration kTerminalInterval{500};
  static constexpr Duration kPipeInterval{10'000};

 private:
  void rewrite(const RunningJob& job, env::Clock& clock);
  void tell(const RunningJob& job, env::Clock& clock);

  std::FILE* out_;
  std::function<void()> tell_ = [] {};
  std::unique_ptr<Console> console_;
  std::unique_ptr<obs::Log> log_;
  int64_t read_before_ = 0;
  WallTime read_at_{0};
  std::unique_ptr<Ticker> ticker_;  // ends first
};

}  // namespace strand::engine
