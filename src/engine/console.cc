#include "engine/console.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <chrono>

#include "engine/describe.h"
#include "engine/reports/status.h"

namespace strand::engine {

void Console::keep() {
  const std::lock_guard lock(mutex_);
  if (!last_.empty()) std::fputc('\n', out_);
  last_.clear();
  std::fflush(out_);
}

void Console::erase() {
  if (!last_.empty()) std::fputs("\r\x1b[K", out_);
}

void Console::on_event(obs::Event event) {
  if (event.level < lowest_) return;
  const std::string line = terminal_line(event, job_);
  if (line.empty()) return;
  const std::lock_guard lock(mutex_);
  erase();
  std::fprintf(out_, "%s\n%s", line.c_str(), last_.c_str());
  std::fflush(out_);
}

void Console::show(const std::string& line) {
  const std::lock_guard lock(mutex_);
  erase();
  last_ = line;
  std::fputs(last_.c_str(), out_);
  std::fflush(out_);
}

size_t terminal_width(std::FILE* out) {
  winsize size{};
  const bool known = ioctl(fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0;
  return known ? size.ws_col : 80;
}

bool is_terminal(std::FILE* out) { return isatty(fileno(out)) == 1; }

Ticker::Ticker(Duration every, std::function<void()> report)
    : thread_([this, every, report = std::move(report)] { run(every, report); }) {}

Ticker::~Ticker() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Ticker::run(Duration every, const std::function<void()>& report) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, std::chrono::milliseconds(every.millis), [this] { return over_; })) {
    lock.unlock();
    report();
    lock.lock();
  }
}

Result<LogOptions> log_options(const std::string& format,
                               const std::map<std::string, std::string>& environment) {
  LogOptions out;
  out.format_given = !format.empty();
  if (format == "json") {
    out.format = obs::LogFormat::kJson;
  } else if (!format.empty() && format != "logfmt") {
    return Status(ErrorCode::kBadUsage, "--log-format expects logfmt or json, found '" + format + "'")
        .hint("leave it out for lines that people read, on a terminal");
  }
  const auto level = environment.find("STRANDLINE_LOG");
  if (level == environment.end() || level->second.empty()) return out;
  const auto parsed = obs::parse_level(level->second);
  if (!parsed) {
    return Status(ErrorCode::kBadUsage,
                  "STRANDLINE_LOG expects error, warn, info or debug, found '" + level->second + "'")
        .hint("unset it for info");
  }
  out.level = *parsed;
  return out;
}

RunReport::RunReport(std::FILE* out, const LogOptions& options, std::string job) : out_(out) {
  if (is_terminal(out) && !options.format_given) {
    console_ = std::make_unique<Console>(out, options.level, std::move(job));
  } else {
    log_ = std::make_unique<obs::Log>(out, options.format, options.level, std::move(job));
  }
}

void RunReport::rewrite(const RunningJob& job, env::Clock& clock) {
  const JobView view = job.view();
  const WallTime now = clock.now();
  console_->show(reports::status_line(view, job.plan(), now, read_before_, read_at_, terminal_width(out_)));
  if (view.attempt) read_before_ = reports::records_read(reports::make_books(view, job.plan()));
  read_at_ = now;
}

void RunReport::tell(const RunningJob& job, env::Clock& clock) {
  if (console_) return rewrite(job, clock);
  log_->on_event(reports::status_event(job.view(), job.plan(), clock.now()));
}

void RunReport::follow(const RunningJob& job, env::Clock& clock) {
  read_at_ = clock.now();
  tell_ = [this, &job, &clock] { tell(job, clock); };
  ticker_ = std::make_unique<Ticker>(console_ ? kTerminalInterval : kPipeInterval, tell_);
}

void RunReport::end() {
  ticker_.reset();
  tell_();
  if (console_) console_->keep();
}

}  // namespace strand::engine
