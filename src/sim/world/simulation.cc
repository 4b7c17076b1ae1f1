#include "sim/world/simulation.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/hash.h"
#include "base/text.h"
#include "connect/file/connector.h"
#include "runtime/attempt.h"
#include "sim/world/sim_connector.h"
#include "sim/world/virtual_driver.h"
#include "state/spill/memory_spill.h"

namespace strand::sim {

namespace {

constexpr WallTime kStart{1'770'545'600'000};  // 2026-02-08, a whole minute
constexpr uint64_t kTaskLanes = 1'000;         // lanes below are those of tasks, which write snapshots
constexpr const char* kState = "/state";
constexpr const char* kClicks = "/clicks";
constexpr int kRestartsMax = 60;
constexpr Duration kInterval{15'000};  // of checkpoints
// Calls that a job hardly ever makes fail more often than the others.
constexpr double kRareCalls = 400;  // so much
constexpr double kFewCalls = 3;
constexpr double kRareStoreFault = 0.04;
constexpr double kArrivalsBehindReads = 0.2;  // a request comes just when somebody has read the store
constexpr double kReaders = 0.001;            // of the steps, somebody takes files away

/// Faults of the environment, each call by chance up to a number of them, and a crash at a chosen call.
class EnvFaults {
 public:
  EnvFaults(uint64_t seed, double chance, int most) : random_(seed), chance_(chance), left_(most) {}
  void off(bool off) { off_ = off; }
  void crash_at(uint64_t call) { crash_at_ = call; }
  /// The path of the call in which the process died.
  const std::string& died_at() const { return died_at_; }
  Fault decide(const CallInfo& info) {
    if (off_) return Fault::kNone;
    if (crash_at_ != 0 && info.nth >= crash_at_) {
      crash_at_ = 0;
      died_at_ = info.path;
      return Fault::kCrash;
    }
    const double more = info.call == Call::kRemoveAll ? kRareCalls : info.call == Call::kLock ? kFewCalls : 1;
    if (left_ <= 0 || !random_.chance(more * chance_)) return Fault::kNone;
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
  std::string died_at_;
};

/// What the protocol was doing at a path of the disk; nothing: it does not tell.
const char* step_at(const std::string& path) {
  static constexpr std::pair<const char*, const char*> kSteps[] = {{"/checkpoints/manifests", "manifest"},
                                                                   {"/checkpoints/files", "snapshot"},
                                                                   {"/checkpoints/attempts", "attempt"},
                                                                   {"/checkpoints/epoch", "epoch"},
                                                                   {"/savepoints", "savepoint"},
                                                                   {"/clicks", nullptr},
                                                                   {"/state", nullptr},
                                                                   {"", "commit"}};
  for (const auto& [part, step] : kSteps) {
    if (path.find(part) != std::string::npos) return step;
  }
  return nullptr;
}

/// One life of the job, over all its crashes and stops.
class Life {
 public:
  Life(const SimulatedJob& job, const SimulationOptions& options)
      : job_(job),
        options_(options),
        random_(options.seed),
        world_(options.seed, kStart, options.keep_trace),
        store_(SimStore::Options{options.defences.attempt_rows, options.defences.rules}),
        faults_(options.seed ^ 0xFA17, options.env_fault, options.env_faults_max),
        store_random_(options.seed ^ 0x5708E),
        barrier_random_(options.seed ^ 0xBA221E2) {
    connect::file::add_file_connector(registry_);
    registry_.add("simstore", simstore_connector(&store_, options.defences.rules));
    registry_.add("simshared", simstore_connector(&store_, options.defences.rules, /*parallel=*/true));
    registry_.add("simlog", simlog_connector(&store_, options.defences.rules));
    const ClickShape shape = job.punctual ? punctual(options.input) : options.input;
    input_ = job.make_input ? job.make_input(options.seed, kStart + Duration{1000}, shape)
                            : make_clicks(options.seed, kStart + Duration{1000}, shape);
    input_.all_from_the_start = input_.all_from_the_start || job.punctual;
    crashes_left_ = static_cast<int>(random_.below(static_cast<uint64_t>(options.crashes_max) + 1));
    if (options.crashes_max > 0 && crashes_left_ == 0) crashes_left_ = 1;
    asks_left_ = static_cast<int>(random_.below(static_cast<uint64_t>(options.asks_max) + 1));
  }

  SimulationResult run() {
    set_up();
    for (int guard = 0; !finished_ && guard < 600'000; ++guard) {
      const Status status = live();
      if (!status.ok()) fail(status);
    }
    if (!finished_) differ("the job did not come to its end: " + standstill());
    if (finished_ && !gave_up_) compare();
    result_.rows = static_cast<int64_t>(input_.lines.size());
    result_.shards = input_.shards;
    drop_attempt();
    result_.trace = world_.trace.hash();
    result_.env_faults = world_.counts;
    result_.store_faults = store_.counts();
    if (options_.keep_trace) result_.trace_lines = world_.trace.lines();
    return std::move(result_);
  }

 private:
  void set_up() {
    faults_.off(true);
    world_.files.set_plan([this](const CallInfo& info) { return faults_.decide(info); });
    if (options_.defences.no_sync) {
      world_.files.ignore_syncs([this](Call call, std::string_view path) {
        return !path.starts_with(kClicks) && options_.defences.no_sync(call, path);
      });
    }
    STRAND_CHECK(world_.files.make_dirs(kClicks).ok());
    for (const std::string& file : input_.files)
      STRAND_CHECK(world_.files.make_dirs(file.substr(0, file.rfind('/'))).ok());
    if (!job_.file_folder.empty()) STRAND_CHECK(world_.files.make_dirs(kTakenFiles).ok());
    for (size_t shard = 0; input_.all_from_the_start && shard < input_.shards; ++shard) append(shard, "");
    faults_.off(false);
    store_.set_plan([this](const StoreCallInfo& info) { return store_fault(info); });
    const bool slow_uploads = random_.chance(options_.slow_uploads);
    const bool slow_sinks = random_.chance(options_.slow_sinks);
    world_.executor.set_delay([this, slow_uploads, slow_sinks](uint64_t lane) {
      if (slow_sinks && lane >= kTaskLanes && next_line_ < input_.lines.size() && random_.chance(0.5))
        return Duration{random_.between(0, 2 * kInterval.millis)};
      if (slow_uploads && lane < kTaskLanes && next_line_ < input_.lines.size())
        return Duration{random_.between(1'000, 9'000)};
      if (lane < kTaskLanes && next_line_ < input_.lines.size() && random_.chance(options_.stuck_uploads))
        return Duration{random_.between(kInterval.millis, 3 * kInterval.millis)};
      return Duration{random_.chance(0.3) ? random_.between(0, 400) : 0};
    });
    world_.executor.set_dead([this] { return world_.files.dead() || store_.dead(); });
    next_crash_ = pick_crash();
    next_ask_ = pick_ask();
  }

  StoreFault store_fault(const StoreCallInfo& info) {
    read_store_ = read_store_ || info.call == StoreCall::kMarkers || info.call == StoreCall::kList;
    if (info.call == StoreCall::kCommit && !ending_calmly_) {
      const WallTime now = world_.clock.now();
      if (now < outage_until_) return StoreFault::kUnavailable;
      if (options_.outages > 0 && random_.chance(options_.outages)) {
        outage_until_ = now + Duration{random_.between(kInterval.millis, 2 * kInterval.millis)};
        return StoreFault::kDelayed;
      }
    }
    const double least = info.call == StoreCall::kMarkers ? kRareStoreFault : 0;
    if (ending_calmly_ || !store_random_.chance(std::max(options_.store_fault, least)))
      return StoreFault::kNone;
    static constexpr StoreFault kKinds[] = {StoreFault::kUnavailable, StoreFault::kLostAnswer,
                                            StoreFault::kDelayed,     StoreFault::kCopied,
                                            StoreFault::kCrashBefore, StoreFault::kCrashAfter};
    const StoreFault fault = kKinds[store_random_.below(std::size(kKinds))];
    const bool dies = fault == StoreFault::kCrashBefore || fault == StoreFault::kCrashAfter;
    if (dies && crashes_left_ <= 0) return StoreFault::kNone;
    if (!can_hit(fault, info.call)) return StoreFault::kNone;
    tell("store, " + std::string(store_call_name(info.call)) + ": " + std::string(store_fault_name(fault)));
    return fault;
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

  WallTime pick_ask() {
    if (asks_left_ <= 0) return WallTime::never();
    --asks_left_;
    return world_.clock.now() + Duration{random_.between(500, options_.input.span.millis / 2)};
  }

  // -- the world around the job

  void append(size_t shard, const std::string& text) {
    const std::string path = input_.files.empty()
                                 ? std::string(kClicks) + "/S" + std::to_string(shard + 1) + ".jsonl"
                                 : input_.files[shard];
    auto file = world_.files.open_append(path);
    STRAND_CHECK(file.ok() && (*file)->append(text).ok() && (*file)->sync().ok());
    STRAND_CHECK((*file)->close().ok() && world_.files.sync_dir(path.substr(0, path.rfind('/'))).ok());
  }

  /// Somebody else's process appends to the shards: no fault of ours hits it, and it syncs.
  void append_due() {
    if (world_.files.dead()) return;
    const WallTime now = world_.clock.now();
    faults_.off(true);
    for (; next_line_ < input_.lines.size() && input_.lines[next_line_].at <= now; ++next_line_)
      append(input_.lines[next_line_].shard, input_.lines[next_line_].line + "\n");
    faults_.off(false);
  }

  /// A reader takes files away, durably, whose epoch the sink has noted as shown. A file that appears again
  /// stands under another name.
  void take_files() {
    faults_.off(true);
    const std::string control = job_.file_folder + "/.strandline/strand/shown-";
    const auto files = world_.files.list(job_.file_folder);
    for (const auto& file : files.ok() ? *files : std::vector<env::FileInfo>()) {
      int subtask = 0;
      long long generation = 0;
      long long epoch = 0;
      if (std::sscanf(file.name.c_str(), "part-%d-%lld-%lld.", &subtask, &generation, &epoch) != 3) continue;
      const auto shown = env::read_all(world_.files, control + std::to_string(subtask));
      if (!shown.ok() || std::atoll(shown->c_str()) < epoch || !random_.chance(0.5)) continue;
      const std::string name = kTakenFiles + ("/" + std::to_string(++taken_) + "-" + file.name);
      STRAND_CHECK(world_.files.rename(job_.file_folder + "/" + file.name, name).ok());
      STRAND_CHECK(world_.files.sync_dir(kTakenFiles).ok() && world_.files.sync_dir(job_.file_folder).ok());
    }
    faults_.off(false);
  }

  void advance() {
    const WallTime now = world_.clock.now();
    WallTime next = std::min({next_crash_, next_ask_, WallTime{now.millis + random_.between(20, 400)}});
    if (next_line_ < input_.lines.size()) next = std::min(next, input_.lines[next_line_].at);
    world_.clock.advance(Duration{std::max<int64_t>(next.millis - now.millis, 1)});
    if (random_.chance(0.002)) world_.clock.jump(Duration{random_.between(-3'000, 3'000)});
    const bool over = next_line_ == input_.lines.size() && now > input_.lines.back().at + Duration{8'000};
    if (over && !asked_to_end_ && all_read() && all_swept()) {
      asked_to_end_ = true;
      attempt_->ask_savepoint(
          true, true, [this](const Status& status, const std::string&) { asked_to_end_ = status.ok(); });
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

  /// A job that ends for good before its second sweep leaves that to a next start, which does not come.
  bool all_swept() const {
    return std::ranges::none_of(attempt_->tasks(), [](const auto& task) {
      return task->view().sink && task->view().sink->sweep_due;
    });
  }

  // -- attempts

  Status start() {
    runtime::JobOptions options;
    options.job = job_.plan.job;
    options.checkpoint_dir = std::string(kState) + "/checkpoints";
    options.savepoint_dir = std::string(kState) + "/savepoints";
    options.parallelism = parallelism_;
    options.generation = generation_;
    options.retained = options_.retained;
    options.checkpoints.interval = kInterval;
    options.checkpoints.timeout = options_.checkpoint_timeout;
    options.checkpoints.tolerable_failures = 2;
    options.defences = options_.defences.runtime;
    if (barrier_random_.chance(options_.unaligned))
      options.overtake_after = Duration{barrier_random_.chance(0.7) ? 0 : barrier_random_.between(10, 3'000)};
    // Either backend goes on from snapshots of the other.
    const bool spills = mix64(options_.seed + static_cast<uint64_t>(++starts_)) % 2 == 0;
    if (spills) {
      options.spill_space = [](env::FileSystem&) -> Result<std::unique_ptr<state::SpillSpace>> {
        return state::make_memory_space(0);
      };
    }
    STRAND_TRY(attempt_,
               runtime::JobAttempt::start(job_.plan, registry_, options, from_, world_.env(), nullptr));
    tell("start at parallelism " + std::to_string(parallelism_) + ", generation " +
         std::to_string(generation_.value) + (spills ? ", state spills" : "") +
         (attempt_->restore_report().snapshot
              ? " from checkpoint " + std::to_string(attempt_->restore_report().snapshot->epoch.value)
              : ""));
    from_ = {};
    driver_ = std::make_unique<VirtualDriver>(world_, *attempt_);
    store_.start_attempt();
    dead_arrive_ = world_.clock.steady_nanos() + kRequestLife.millis * SimClock::kNanosPerMilli;
    asked_to_end_ = false;
    stopping_ = false;
    return Status();
  }

  /// What the next attempt is: at any parallelism, perhaps from an older savepoint, perhaps another
  /// generation.
  void plan_start(bool stopped) {
    static constexpr int32_t kDraws[] = {1, 1, 1, 1, 1, 2, 2, 3, 4};
    const int32_t before = parallelism_;
    parallelism_ = std::min(options_.parallelism_max, kDraws[random_.below(std::size(kDraws))]);
    if (before != parallelism_) ++result_.rescales;
    if (stopped && random_.chance(options_.upgrades)) ++generation_.value;
    if (!job_.goes_back || savepoints_.empty() || !random_.chance(options_.goes_back)) return;
    const size_t chosen = random_.below(savepoints_.size());
    from_ = {runtime::RestoreChoice::Kind::kPath, savepoints_[chosen]};
    savepoints_.resize(chosen + 1);  // the later ones are void
    ++result_.returns;
  }

  /// Somebody asks for a savepoint, a stop, or a stop with drain.
  void ask() {
    next_ask_ = pick_ask();
    if (stopping_ || asked_to_end_) return;
    const bool stop = random_.chance(0.8);
    const bool drain = stop && job_.drains && random_.chance(0.4);
    stopping_ = stop;
    tell(drain ? "stop with drain" : stop ? "stop with savepoint" : "savepoint");
    attempt_->ask_savepoint(stop, drain, [this, stop, drain](const Status& status, const std::string& path) {
      if (status.ok()) savepoints_.push_back(path);
      if (status.ok() && drain) ++result_.drains;
      if (stop) stopping_ = status.ok();
    });
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
    if (world_.clock.now() >= next_ask_) ask();
    if (!job_.file_folder.empty() && random_.chance(kReaders)) take_files();
    const bool just_read = std::exchange(read_store_, false);
    if (store_.under_way() > 0 && random_.chance(just_read ? kArrivalsBehindReads : options_.arrivals))
      store_.deliver_one(random_);
    if (store_.under_way() > 0 && world_.clock.steady_nanos() >= dead_arrive_) store_.deliver_of_the_dead();
    STRAND_TRY(const bool progressed, driver_->stumble(random_));
    if (attempt_->finished()) return finish();
    if (!progressed || random_.chance(0.01)) advance();
    return Status();
  }

  /// The end, or a stop after which somebody starts the job again.
  Status finish() {
    if (asked_to_end_) {
      finished_ = true;
      while (store_.deliver_one(random_)) {
      }
      return Status();
    }
    ++result_.starts;
    drop_attempt();
    plan_start(/*stopped=*/true);
    start_at_ = world_.clock.now() + Duration{random_.between(10, options_.downtime_max.millis)};
    return Status();
  }

  /// The process dies, the machine perhaps with it.
  Status die() {
    const bool power = random_.chance(options_.power_loss);
    note_step(power);
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
    plan_start(/*stopped=*/false);
    start_at_ = world_.clock.now() + Duration{random_.between(10, options_.downtime_max.millis)};
    next_crash_ = pick_crash();
    return Status();
  }

  void tell(const std::string& what) {
    constexpr size_t kToldMax = 200;
    if (result_.schedule.size() < kToldMax)
      result_.schedule.push_back(format_utc(world_.clock.now().millis).substr(11, 12) + "  " + what);
  }

  /// What the protocol was doing, for the summary.
  void note_step(bool power) {
    const std::string at = step();
    ++result_.crash_steps[at];
    tell(std::string(power ? "power fails: " : "crash: ") + at +
         (world_.files.dead() ? ", in a call for " + faults_.died_at() : ""));
  }

  const char* step() {
    if (world_.files.dead()) {
      if (const char* at = step_at(faults_.died_at())) return at;
    }
    if (attempt_ == nullptr) return "restore";
    for (const auto& task : attempt_->tasks()) task->publish();
    const runtime::AttemptView view = attempt_->view();
    for (const auto& [name, task] : view.tasks) {
      if (task.sink && task.sink->flushing) return "flush";
    }
    if (stopping_ || asked_to_end_) return "stop";
    if (view.checkpoints.under_way) return view.checkpoints.missing.empty() ? "manifest" : "barrier";
    return "between checkpoints";
  }

  void drop_attempt() {
    if (attempt_ != nullptr) {
      const runtime::AttemptView view = attempt_->view();
      result_.checkpoints += view.checkpoints.completed;
      if (view.local_disk && view.local_disk->state > 0) ++result_.spilled;
    }
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
    if (++result_.restarts > kRestartsMax) {
      differ("the job fails again and again: " + standstill() + ": " + status.to_string());
      finished_ = gave_up_ = true;
      return;
    }
    tell("restart after " + status.to_string());
    drop_attempt();
    start_at_ = world_.clock.now() + Duration{random_.between(50, 1'000)};
  }

  // -- comparison

  void compare() {
    faults_.off(true);
    for (std::string& difference : job_.judge->differences(input_, {store_.tables(), world_.files}))
      differ(std::move(difference));
    std::map<std::string, obs::Ledger> sums;
    for (const auto& task : attempt_->tasks()) {
      task->publish();
      for (const auto& op : task->view().operators) sums[op.id] += op.ledger;
    }
    for (const auto& [id, ledger] : sums) {
      if (!ledger.balanced()) differ("ledger of " + id + " is off by " + std::to_string(ledger.difference()));
    }
  }

  void differ(std::string text) {
    if (result_.differences.size() < 20) result_.differences.push_back(std::move(text));
  }

  const SimulatedJob& job_;
  const SimulationOptions& options_;
  Random random_;
  SimEnv world_;
  SimStore store_;
  EnvFaults faults_;
  Random store_random_;
  Random barrier_random_;
  connect::Registry registry_;
  ClickInput input_;
  size_t next_line_ = 0;
  int64_t taken_ = 0;
  int64_t dead_arrive_ = 0;  // steady time at which requests of the dead have arrived
  bool read_store_ = false;  // since the last step somebody has read what the store holds
  WallTime outage_until_{0};
  std::unique_ptr<runtime::JobAttempt> attempt_;
  std::unique_ptr<VirtualDriver> driver_;
  int32_t parallelism_ = 1;
  int64_t starts_ = 0;
  Generation generation_{1};
  runtime::RestoreChoice from_;
  std::vector<std::string> savepoints_;  // that are not void, oldest first
  WallTime start_at_ = kStart;
  WallTime next_crash_ = WallTime::never();
  WallTime next_ask_ = WallTime::never();
  int crashes_left_ = 0;
  int asks_left_ = 0;
  bool ending_calmly_ = false;
  bool stopping_ = false;
  bool asked_to_end_ = false;
  bool finished_ = false;
  bool gave_up_ = false;
  SimulationResult result_;
};

}  // namespace

std::map<std::string, std::string> click_files() {
  return {
      {"connector", "filesystem"}, {"path", kClicks}, {"format", "json"}, {"source.monitor-interval", "1 s"}};
}

SimulationResult simulate(const SimulatedJob& job, const SimulationOptions& options) {
  return Life(job, options).run();
}

}  // namespace strand::sim
