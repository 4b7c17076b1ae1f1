#include "sim/world/simulation.h"

#include <algorithm>
#include <set>

#include "base/text.h"
#include "connect/file/connector.h"
#include "nlohmann/json.hpp"
#include "plan/with_ends.h"
#include "runtime/attempt.h"
#include "sim/world/sim_connector.h"
#include "sim/world/virtual_driver.h"

namespace strand::sim {

namespace {

constexpr WallTime kStart{1'770'545'600'000};  // 2026-02-08, a whole minute
constexpr uint64_t kTaskLanes = 1'000;         // lanes below are those of tasks, which write snapshots
constexpr const char* kState = "/state";
constexpr const char* kClicks = "/clicks";
constexpr const char* kExceptions = "/exceptions";
constexpr const char* kMetrics = "ad_metrics";
constexpr const char* kRunning = "ad_running";

/// Whether a job writes a column of a table.
bool writes(const plan::Plan& plan, const std::string& table, const std::string& column) {
  return std::any_of(plan.sinks.begin(), plan.sinks.end(), [&](const plan::NodePtr& sink) {
    const auto* write = std::get_if<plan::SinkWrite>(&sink->detail);
    return write != nullptr && write->table.name == table && std::ranges::count(write->columns, column) > 0;
  });
}

Status not_simulated(std::string message, const plan::TableSpec& table) {
  return Status(ErrorCode::kNotSimulated, std::move(message))
      .at(table.where)
      .hint(
          "the simulator makes ad clicks and judges the tables of examples/ad-clicks/job.sql; for any other "
          "job"
          " kill `strandline run` and compare with `strandline recount --diff`");
}

Status check_simulated(const plan::Plan& job) {
  static const std::set<std::string> kGenerated = {"click_id",      "ad_id",     "user_id",   "spend_micros",
                                                   "impression_ms", "device_ms", "arrival_ms"};
  const plan::TableSpec* table = nullptr;
  for (const plan::NodePtr& node : job.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr) continue;
    if (table != nullptr && table->name != scan->table.name) {
      return not_simulated(
          "expected a job that reads one table of clicks, found " + table->name + " and " + scan->table.name,
          scan->table);
    }
    table = &scan->table;
    for (const columnar::Field& field : table->schema->fields()) {
      if (kGenerated.contains(field.name)) continue;
      return not_simulated(
          "expected table " + table->name + " to have columns of a click, found " + field.name, *table);
    }
  }
  if (table != nullptr && writes(job, kMetrics, "fast_valid") && writes(job, kMetrics, "late_valid"))
    return Status();
  return not_simulated(
      "expected a job that writes fast_valid and late_valid of a table ad_metrics, found none",
      table == nullptr ? plan::TableSpec{} : *table);
}

/// Faults of the environment, each call by chance up to a number of them, and a crash at a chosen call.
class EnvFaults {
 public:
  EnvFaults(uint64_t seed, double chance, int most) : random_(seed), chance_(chance), left_(most) {}
  void off(bool off) { off_ = off; }
  void crash_at(uint64_t call) { crash_at_ = call; }
  Fault decide(const CallInfo& info) {
    if (off_) return Fault::kNone;
    if (crash_at_ != 0 && info.nth >= crash_at_) {
      crash_at_ = 0;
      return Fault::kCrash;
    }
    if (left_ <= 0 || !random_.chance(chance_)) return Fault::kNone;
    --left_;
    const auto faults = faults_of(info.call);
    const Fault fault = faults.empty() ? Fault::kNone : faults[random_.below(faults.size())];
    return fault == Fault::kCrash ? Fault::kNone : fault;
  }

 private:
  Random random_;
  double chance_;
  int left_;
  bool off_ = false;
  uint64_t crash_at_ = 0;
};

/// One life of the job, over all its crashes.
class Life {
 public:
  Life(const plan::Plan& plan, const SimulationOptions& options)
      : plan_(plan),
        options_(options),
        random_(options.seed),
        world_(options.seed, kStart, options.keep_trace),
        store_(SimStore::Options{options.defences.attempt_rows, options.defences.rules}),
        faults_(options.seed ^ 0xFA17, options.env_fault, options.env_faults_max),
        store_random_(options.seed ^ 0x5708E) {
    connect::file::add_file_connector(registry_);
    registry_.add("simstore", simstore_connector(&store_, options.defences.rules));
    input_ = make_clicks(options.seed, kStart + Duration{1000}, options.input);
    crashes_left_ = static_cast<int>(random_.below(static_cast<uint64_t>(options.crashes_max) + 1));
    if (options.crashes_max > 0 && crashes_left_ == 0) crashes_left_ = 1;
  }

  SimulationResult run() {
    set_up();
    for (int guard = 0; !finished_ && guard < 600'000; ++guard) {
      const Status status = live();
      if (!status.ok()) fail(status);
    }
    if (!finished_) result_.differences.push_back("the job did not come to its end: " + standstill());
    if (finished_) compare();
    result_.rows = static_cast<int64_t>(input_.lines.size());
    result_.shards = input_.shards;
    result_.trace = world_.trace.hash();
    result_.env_faults = world_.counts;
    result_.store_faults = store_.counts();
    if (options_.keep_trace) result_.trace_lines = world_.trace.lines();
    attempt_.reset();
    return std::move(result_);
  }

 private:
  void set_up() {
    faults_.off(true);
    world_.files.set_plan([this](const CallInfo& info) { return faults_.decide(info); });
    if (!options_.defences.file_syncs || !options_.defences.folder_syncs) {
      world_.files.ignore_syncs([this](Call call, std::string_view) {
        return call == Call::kSync ? !options_.defences.file_syncs : !options_.defences.folder_syncs;
      });
    }
    STRAND_CHECK(world_.files.make_dirs(kClicks).ok());
    faults_.off(false);
    store_.set_plan([this](const StoreCallInfo& info) { return store_fault(info); });
    const bool slow_uploads = random_.chance(options_.slow_uploads);
    world_.executor.set_delay([this, slow_uploads](uint64_t lane) {
      if (slow_uploads && lane < kTaskLanes) return Duration{random_.between(1'000, 9'000)};
      return Duration{random_.chance(0.3) ? random_.between(0, 400) : 0};
    });
    world_.executor.set_dead([this] { return world_.files.dead() || store_.dead(); });
    next_crash_ = pick_crash();
  }

  StoreFault store_fault(const StoreCallInfo& info) {
    if (ending_calmly_ || !store_random_.chance(options_.store_fault)) return StoreFault::kNone;
    static constexpr StoreFault kKinds[] = {StoreFault::kUnavailable, StoreFault::kLostAnswer,
                                            StoreFault::kDelayed,     StoreFault::kCopied,
                                            StoreFault::kCrashBefore, StoreFault::kCrashAfter};
    const StoreFault fault = kKinds[store_random_.below(std::size(kKinds))];
    const bool dies = fault == StoreFault::kCrashBefore || fault == StoreFault::kCrashAfter;
    if (dies && crashes_left_ <= 0) return StoreFault::kNone;
    return can_hit(fault, info.call) ? fault : StoreFault::kNone;
  }

  /// What everything waits for.
  std::string standstill() {
    std::string text = "clock " + format_utc(world_.clock.now().millis) + ", line " +
                       std::to_string(next_line_) + " of " + std::to_string(input_.lines.size()) +
                       (asked_to_end_ ? ", asked to end" : "") + ", background " +
                       std::to_string(world_.executor.pending());
    if (attempt_ == nullptr) return text + ", no attempt";
    const runtime::AttemptView view = attempt_->view();
    if (view.checkpoints.under_way)
      text += ", epoch " + std::to_string(view.checkpoints.under_way->value) + " under way";
    for (const int32_t task : view.checkpoints.missing)
      text += " missing " + attempt_->tasks()[static_cast<size_t>(task)]->name();
    for (const auto& task : attempt_->tasks()) {
      task->publish();
      if (!task->view().blocked.empty()) text += ", " + task->name() + " blocked: " + task->view().blocked;
    }
    return text;
  }

  /// Some crashes come at a call of the environment, the others between two steps.
  WallTime pick_crash() {
    if (crashes_left_ <= 0) return WallTime::never();
    if (random_.chance(0.5)) {
      faults_.crash_at(world_.files.calls() + 1 + random_.below(400));
      return WallTime::never();
    }
    return world_.clock.now() + Duration{random_.between(500, options_.input.span.millis / 2)};
  }

  /// Somebody else's process appends to the shards: no fault of ours hits it, and it syncs.
  void append_due() {
    if (world_.files.dead()) return;
    const WallTime now = world_.clock.now();
    faults_.off(true);
    while (next_line_ < input_.lines.size() && input_.lines[next_line_].at <= now) {
      const ClickLine& line = input_.lines[next_line_++];
      const std::string path = std::string(kClicks) + "/S" + std::to_string(line.shard + 1) + ".jsonl";
      auto file = world_.files.open_append(path);
      STRAND_CHECK(file.ok() && (*file)->append(line.line + "\n").ok() && (*file)->sync().ok());
      STRAND_CHECK((*file)->close().ok() && world_.files.sync_dir(kClicks).ok());
    }
    faults_.off(false);
  }

  Status start() {
    runtime::JobOptions options;
    options.job = plan_.job;
    options.checkpoint_dir = std::string(kState) + "/checkpoints";
    options.savepoint_dir = std::string(kState) + "/savepoints";
    options.parallelism = options_.parallelism;
    options.retained = options_.retained;
    options.checkpoints.interval = Duration{10'000};
    options.checkpoints.timeout = Duration{30'000};
    options.checkpoints.tolerable_failures = 2;
    options.defences = options_.defences.runtime;
    STRAND_TRY(attempt_, runtime::JobAttempt::start(plan_, registry_, options, {}, world_.env(), nullptr));
    driver_ = std::make_unique<VirtualDriver>(world_, *attempt_);
    asked_to_end_ = false;
    return Status();
  }

  /// A few steps of the world.
  Status live() {
    append_due();
    if (world_.files.dead() || store_.dead()) return die();
    if (attempt_ == nullptr) {
      if (world_.clock.now() < start_at_) {
        world_.clock.advance(start_at_ - world_.clock.now());
        return Status();
      }
      return start();
    }
    if (world_.clock.now() >= next_crash_) return die();
    if (store_.under_way() > 0 && random_.chance(options_.arrivals)) store_.deliver_one(random_);
    STRAND_TRY(const bool progressed, driver_->stumble(random_));
    if (attempt_->finished()) {
      finished_ = true;
      while (store_.deliver_one(random_)) {
      }
      return Status();
    }
    if (!progressed || random_.chance(0.01)) advance();
    return Status();
  }

  void advance() {
    const WallTime now = world_.clock.now();
    WallTime next = std::min(next_crash_, WallTime{now.millis + random_.between(20, 400)});
    if (next_line_ < input_.lines.size()) next = std::min(next, input_.lines[next_line_].at);
    world_.clock.advance(Duration{std::max<int64_t>(next.millis - now.millis, 1)});
    if (random_.chance(0.002)) world_.clock.jump(Duration{random_.between(-3'000, 3'000)});
    const bool over = next_line_ == input_.lines.size() && now > input_.lines.back().at + Duration{8'000};
    if (over && !asked_to_end_ && all_read()) {
      asked_to_end_ = true;
      attempt_->ask_savepoint(true, true,
                              [this](Status status, std::string) { asked_to_end_ = status.ok(); });
    }
  }

  /// A clock that jumped must not end the job before it has read everything.
  bool all_read() const {
    int64_t records = 0;
    for (const auto& task : attempt_->tasks()) {
      task->publish();
      for (const auto& shard : task->view().shards) records += shard.records;
    }
    return records == static_cast<int64_t>(input_.lines.size());
  }

  /// The process dies, the machine perhaps with it.
  Status die() {
    const bool power = random_.chance(options_.power_loss);
    note_step();
    ++result_.crashes;
    --crashes_left_;
    drop_attempt();
    store_.crash();
    if (power) {
      world_.power_loss(random_);
    } else {
      world_.crash();
    }
    if (crashes_left_ <= 0) ending_calmly_ = random_.chance(0.5);
    start_at_ = world_.clock.now() + Duration{random_.between(10, 3'000)};
    next_crash_ = pick_crash();
    return Status();
  }

  /// What the protocol was doing, for the summary.
  void note_step() {
    if (attempt_ == nullptr) {
      ++result_.crash_steps["restore"];
      return;
    }
    for (const auto& task : attempt_->tasks()) task->publish();
    const runtime::AttemptView view = attempt_->view();
    bool flushing = false;
    for (const auto& [name, task] : view.tasks) flushing = flushing || (task.sink && task.sink->flushing);
    const char* step = "between checkpoints";
    if (flushing) {
      step = "flush";
    } else if (view.checkpoints.under_way) {
      step = view.checkpoints.missing.empty() ? "manifest" : "barrier and snapshot";
    } else if (view.checkpoints.last_complete) {
      step = "commit and after";
    }
    ++result_.crash_steps[step];
  }

  void drop_attempt() {
    if (attempt_ != nullptr) result_.checkpoints += attempt_->view().checkpoints.completed;
    driver_.reset();
    attempt_.reset();
  }

  /// An error ends the attempt; the same process starts the next, which finds background work of this one.
  void fail(const Status& status) {
    if (world_.files.dead() || store_.dead()) {
      const Status died = die();
      STRAND_CHECK(died.ok());
      return;
    }
    if (++result_.restarts > 60) {
      result_.differences.push_back("the job fails again and again: " + status.to_string());
      finished_ = true;
      gave_up_ = true;
      return;
    }
    drop_attempt();
    start_at_ = world_.clock.now() + Duration{random_.between(50, 1'000)};
  }

  // -- comparison
  void compare();
  void compare_tables(const Recount& truth);
  void compare_ledger();
  void compare_exceptions(const Recount& truth);
  std::map<std::string, int64_t> read_exceptions();
  void differ(std::string text) {
    if (result_.differences.size() < 20) result_.differences.push_back(std::move(text));
  }

  const plan::Plan& plan_;
  const SimulationOptions& options_;
  Random random_;
  SimEnv world_;
  SimStore store_;
  EnvFaults faults_;
  Random store_random_;
  connect::Registry registry_;
  ClickInput input_;
  size_t next_line_ = 0;
  std::unique_ptr<runtime::JobAttempt> attempt_;
  std::unique_ptr<VirtualDriver> driver_;
  WallTime start_at_ = kStart;
  WallTime next_crash_ = WallTime::never();
  int crashes_left_ = 0;
  bool ending_calmly_ = false;
  bool asked_to_end_ = false;
  bool finished_ = false;
  bool gave_up_ = false;
  int64_t late_rows_ = 0;
  SimulationResult result_;
};

void Life::compare() {
  result_.checkpoints += attempt_ ? attempt_->view().checkpoints.completed : 0;
  if (gave_up_) return;
  const Recount truth = recount(input_);
  compare_tables(truth);
  compare_ledger();
  if (writes(plan_, "exceptions", "verdict")) compare_exceptions(truth);
}

int64_t number(const SimTables::Row& row, const std::string& column) {
  for (const auto& [writer, cell] : row.writers) {
    for (size_t i = 0; i < cell.columns.size(); ++i) {
      if (cell.columns[i] == column && cell.values[i]) return std::stoll(*cell.values[i]);
    }
  }
  return 0;
}

/// Per ad and hour: closed minutes + late total = recount, and the hour row is the sum of its minutes.
void Life::compare_tables(const Recount& truth) {
  std::map<std::pair<std::string, std::string>, int64_t> minutes, hours, late, running;
  const auto split = [](const std::string& name) {
    const size_t space = name.find(' ');
    return std::pair{name.substr(0, space), name.substr(space + 1)};
  };
  for (const auto& [key, row] : store_.tables().rows(kMetrics)) {
    const auto [ad, bucket] = split(row.name);
    const std::pair hour{ad, bucket.substr(1, 13)};
    if (bucket[0] == 'M') {
      minutes[hour] += number(row, "fast_valid");
    } else {
      hours[hour] += number(row, "fast_valid");
      late[hour] += number(row, "late_valid");
    }
  }
  for (const auto& [key, row] : store_.tables().rows(kRunning)) {
    const auto [ad, bucket] = split(row.name);
    running[{ad, bucket.substr(1, 13)}] += number(row, "total");
  }
  for (const auto& [hour, total] : truth.hours) {
    const std::string name = hour.first + " " + hour.second;
    late_rows_ += late[hour];
    if (minutes[hour] + late[hour] != total.clicks) {
      differ(name + ": minutes " + std::to_string(minutes[hour]) + " + late " + std::to_string(late[hour]) +
             ", recount " + std::to_string(total.clicks));
    }
    if (hours[hour] != minutes[hour]) {
      differ(name + ": hour row " + std::to_string(hours[hour]) + ", its minutes " +
             std::to_string(minutes[hour]));
    }
    if (writes(plan_, kRunning, "total") && running[hour] != minutes[hour]) {
      differ(name + ": running totals " + std::to_string(running[hour]) + ", closed minutes " +
             std::to_string(minutes[hour]));
    }
    minutes.erase(hour);
  }
  for (const auto& [hour, count] : minutes)
    differ(hour.first + " " + hour.second + ": rows that the recount lacks");
}

void Life::compare_ledger() {
  std::map<std::string, obs::Ledger> sums;
  for (const auto& task : attempt_->tasks()) {
    task->publish();
    for (const auto& op : task->view().operators) sums[op.id] += op.ledger;
  }
  for (const auto& [id, ledger] : sums) {
    if (!ledger.balanced()) differ("ledger of " + id + " is off by " + std::to_string(ledger.difference()));
  }
}

std::map<std::string, int64_t> Life::read_exceptions() {
  std::map<std::string, int64_t> verdicts;
  faults_.off(true);
  const auto files = world_.files.list(kExceptions);
  if (!files.ok()) return verdicts;
  for (const auto& file : *files) {
    if (file.is_dir || file.name[0] == '.' || file.name[0] == '_') continue;
    const auto text = env::read_all(world_.files, std::string(kExceptions) + "/" + file.name);
    if (!text.ok()) continue;
    for (size_t from = 0; from < text->size();) {
      const size_t end = text->find('\n', from);
      const std::string line = text->substr(from, end - from);
      from = end == std::string::npos ? text->size() : end + 1;
      ++verdicts[nlohmann::json::parse(line).at("verdict").get<std::string>()];
    }
  }
  return verdicts;
}

/// Each copy, late click and bad line is in the log of exceptions once.
void Life::compare_exceptions(const Recount& truth) {
  auto verdicts = read_exceptions();
  const auto expect = [&](const std::string& verdict, int64_t expected) {
    if (verdicts[verdict] != expected) {
      differ("exceptions: " + std::to_string(verdicts[verdict]) + " " + verdict + ", expected " +
             std::to_string(expected));
    }
  };
  expect("duplicate", truth.copies);
  expect("bad", truth.bad);
  expect("late", late_rows_);
  expect("stale", 0);
}

}  // namespace

Result<plan::Plan> simulation_plan(const plan::Plan& job) {
  STRAND_OK(check_simulated(job));
  return plan::with_ends(
      job,
      [](plan::Scan& scan) {
        scan.table.options = {{"connector", "filesystem"},
                              {"path", kClicks},
                              {"format", "json"},
                              {"source.monitor-interval", "1 s"}};
        if (scan.watermark && scan.watermark->idle_timeout) scan.watermark->idle_timeout = Duration{20'000};
      },
      [](plan::SinkWrite& write) {
        const bool judged = write.table.name == kMetrics || write.table.name == kRunning;
        write.table.options =
            judged ? std::map<std::string, std::string>{{"connector", "simstore"}}
                   : std::map<std::string, std::string>{
                         {"connector", "filesystem"}, {"path", "/" + write.table.name}, {"format", "json"}};
      });
}

SimulationResult simulate(const plan::Plan& plan, const SimulationOptions& options) {
  return Life(plan, options).run();
}

}  // namespace strand::sim
