// Runs a job of the C++ API in virtual time: kills it, stops it, and starts it again at other parallelisms.
#pragma once

#include <gmock/gmock.h>

#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/build.h"
#include "checkpoint/store.h"
#include "runtime/in_flight.h"
#include "sim/world/script_source.h"
#include "sim/world/sim_connector.h"
#include "sim/world/virtual_driver.h"
#include "state/spill/memory_spill.h"
#include "strandline/stream.h"

namespace strand::testing {

/// One attempt of a job: how long it runs, at which parallelism, and how it ends.
struct Leg {
  enum class End : uint8_t { kKill, kStop, kDrain };
  int64_t millis;
  int32_t parallelism;
  End end = End::kKill;
  /// Not 0: tasks are stepped in an order by chance, so that rows wait in channels.
  uint64_t stumbles = 0;
};

/// Keeps events of the job as texts.
class NotedEvents final : public obs::EventSink {
 public:
  void on_event(obs::Event event) override { events.push_back(std::move(event)); }
  std::vector<std::string> with_name(const std::string& name) const {
    std::vector<std::string> texts;
    for (const obs::Event& event : events) {
      if (event.name == name)
        texts.push_back(std::string(event.field("operator")) + ": " + std::string(event.field("message")));
    }
    return texts;
  }
  std::vector<obs::Event> events;
};

/// Tables `script`, `script2`, ... give what `feed` says, one record each 100 ms, a watermark behind each;
/// `simlog` takes rows in transactions. The same job over the same records gives the same rows, however it is
/// run.
class JobRunner {
 public:
  using Make = std::function<strandline::Job()>;
  explicit JobRunner(Make make) : make_(std::move(make)) {
    registry_.add("simlog", sim::simlog_connector(&store_, {}));
    registry_.add("simstore", sim::simstore_connector(&store_, {}));
  }

  /// Records of a table whose connector is `name`, in JSON.
  void feed(const std::string& name, const std::vector<std::string>& lines) {
    std::vector<std::pair<std::string, std::string>> records;
    for (const std::string& line : lines) records.emplace_back("S1", line);
    feed_shards(name, {"S1"}, records);
  }
  /// The same of several shards: (shard, line).
  void feed_shards(const std::string& name, const std::vector<std::string>& shards,
                   const std::vector<std::pair<std::string, std::string>>& records) {
    auto script = std::make_shared<sim::Script>();
    for (const std::string& shard : shards) script->add_shard(shard);
    WallTime at = kStart;
    for (const auto& [shard, line] : records) script->add(shard, at = at + Duration{100}, line);
    script->finish();
    registry_.add(name, sim::script_connector(script));
    scripts_[name] = std::move(script);
  }
  /// Nothing of the table can be read, until `let_go`.
  void hold_back(const std::string& name) { scripts_.at(name)->not_before(kStart + Duration{1'000'000'000}); }
  void let_go(const std::string& name) { scripts_.at(name)->not_before(WallTime{0}); }

  /// Each leg goes on where the newest snapshot is; then one runs to the end of the input.
  void run(const std::vector<Leg>& legs = {}, int32_t last_parallelism = 1) {
    run_legs(legs);
    start(last_parallelism);
    if (attempt_ == nullptr) return;
    const Status ended = driver_->run_until(world_.clock.now() + Duration{600'000});
    ASSERT_TRUE(ended.ok()) << ended.to_string();
    ASSERT_TRUE(attempt_->finished());
    note();
    end_attempt();
  }

  void run_legs(const std::vector<Leg>& legs) {
    for (const Leg& leg : legs) {
      if (::testing::Test::HasFatalFailure()) return;
      run_leg(leg);
    }
  }
  /// Runs until an attempt fails, and returns why.
  Status run_to_failure() {
    start(1);
    if (attempt_ == nullptr) return start_error_;
    Status failed = driver_->run_until(world_.clock.now() + Duration{600'000});
    end_attempt();
    return failed;
  }
  /// A start that is refused, and why.
  Status refused_start(int32_t parallelism = 1) {
    expects_refusal_ = true;
    start(parallelism);
    return start_error_;
  }

  /// Rows of a `simlog` table, sorted.
  std::vector<std::string> rows(const std::string& table) const {
    std::vector<std::string> rows = store_.tables().added(table);
    std::sort(rows.begin(), rows.end());
    return rows;
  }
  /// Rows in flight in the newest checkpoint.
  int64_t rows_in_flight() {
    auto store = checkpoint::Store::open(world_.files, "/state/checkpoints", "/state/savepoints", plan_.job);
    const auto latest = store.ok() ? store->latest() : store.status();
    EXPECT_TRUE(latest.ok());
    if (!latest.ok() || !*latest) return 0;
    const auto manifest = store->load((*latest)->path);
    state::SnapshotReader reader(world_.files, store->files_dir());
    int64_t count = 0;
    for (const auto& [id, parts] : manifest->operators) {
      for (const auto& part : parts) {
        for (const auto& ref : part.sections) {
          if (ref.name != runtime::kInFlightSection) continue;
          const auto section = reader.read(ref);
          const auto in_flight = runtime::decode_in_flight(section->bytes());
          for (const runtime::InFlight& one : *in_flight) count += one.rows.rows();
        }
      }
    }
    return count;
  }
  /// The books of an operator at the end of the last run.
  const obs::Ledger& ledger(const std::string& id) { return ledgers_[id]; }
  int64_t clock_readings(const std::string& id) { return clock_readings_[id]; }
  const NotedEvents& events() const { return events_; }
  runtime::JobOptions& options() { return options_; }
  /// State is in a store, and comes back for each batch.
  void keep_nothing_in_memory() {
    options_.spill_space = [](env::FileSystem&) -> Result<std::unique_ptr<state::SpillSpace>> {
      return state::make_memory_space(0);
    };
  }
  void set_job(Make make) { make_ = std::move(make); }
  sim::SimStore& store() { return store_; }

  static constexpr WallTime kStart{1'770'544'800'000};  // 2026-02-08 10:00

 private:
  void start(int32_t parallelism) {
    strandline::Job job = make_();
    auto plan = api::plan_of(job);
    ASSERT_TRUE(plan.ok()) << plan.status().to_string();
    plan_ = *std::move(plan);
    runtime::JobOptions options = options_;
    options.job = plan_.job;
    options.checkpoint_dir = "/state/checkpoints";
    options.savepoint_dir = "/state/savepoints";
    options.parallelism = parallelism;
    options.tick_interval = Duration{0};
    options.checkpoints.interval = Duration{500};
    options.retained = 2;
    auto attempt = runtime::JobAttempt::start(plan_, registry_, options, {}, world_.env(), &events_);
    if (!attempt.ok()) start_error_ = attempt.status();
    ASSERT_TRUE(attempt.ok() || std::exchange(expects_refusal_, false)) << attempt.status().to_string();
    if (!attempt.ok()) return;
    attempt_ = *std::move(attempt);
    driver_ = std::make_unique<sim::VirtualDriver>(world_, *attempt_);
  }
  void run_leg(const Leg& leg) {
    start(leg.parallelism);
    if (attempt_ == nullptr) return;
    const WallTime until = world_.clock.now() + Duration{leg.millis};
    const Status ran = leg.stumbles == 0 ? driver_->run_until(until) : stumble_until(until, leg.stumbles);
    ASSERT_TRUE(ran.ok()) << ran.to_string();
    if (leg.end != Leg::End::kKill && !attempt_->finished()) {
      Status stopped(ErrorCode::kInternal, "not answered");
      attempt_->ask_savepoint(true, leg.end == Leg::End::kDrain,
                              [&](Status status, std::string) { stopped = std::move(status); });
      const Status ended = driver_->run_until(world_.clock.now() + Duration{5'000});
      ASSERT_TRUE(ended.ok()) << ended.to_string();
      ASSERT_TRUE(stopped.ok()) << stopped.to_string();
    }
    end_attempt();
    if (leg.end == Leg::End::kKill) {
      world_.crash();
      store_.crash();
    }
  }
  Status stumble_until(WallTime until, uint64_t seed) {
    Random random(seed);
    while (world_.clock.now() < until) {
      STRAND_TRY(const bool progressed, driver_->stumble(random));
      if (!progressed || random.chance(0.3)) world_.clock.advance(Duration{20});
    }
    return Status();
  }
  void end_attempt() {
    driver_.reset();
    attempt_.reset();
  }
  void note() {
    ledgers_.clear();
    for (const auto& [name, task] : attempt_->view().tasks) {
      for (const auto& op : task.operators) {
        ledgers_[op.id] += op.ledger;
        clock_readings_[op.id] += op.clock_readings;
      }
    }
  }

  Make make_;
  sim::SimEnv world_{1, kStart};
  sim::SimStore store_;
  connect::Registry registry_;
  plan::Plan plan_;
  runtime::JobOptions options_;
  NotedEvents events_;
  std::unique_ptr<runtime::JobAttempt> attempt_;
  std::unique_ptr<sim::VirtualDriver> driver_;
  std::map<std::string, std::shared_ptr<sim::Script>> scripts_;
  std::map<std::string, obs::Ledger> ledgers_;
  std::map<std::string, int64_t> clock_readings_;
  Status start_error_;
  bool expects_refusal_ = false;
};

/// The rows of table `log` are those of the run without interruption, wherever the job is killed or stopped,
/// and at parallelism 1, then 2, then 3; in every second run no state stays in memory for longer than a
/// batch.
inline void expect_same_rows_wherever_it_is_killed(const std::function<std::unique_ptr<JobRunner>()>& make,
                                                   const std::vector<std::string>& tables,
                                                   int64_t input_millis) {
  const auto plain = make();
  plain->run();
  bool spilled = false;
  for (const Leg::End end : {Leg::End::kKill, Leg::End::kStop}) {
    for (int64_t first = 150; first < input_millis; first += 350) {
      const auto killed = make();
      if (std::exchange(spilled, !spilled)) killed->keep_nothing_in_memory();
      killed->run({{first, 1, end}, {700, 2, end}}, 3);
      if (::testing::Test::HasFatalFailure()) return;
      for (const std::string& table : tables) {
        EXPECT_EQ(killed->rows(table), plain->rows(table))
            << "ended after " << first << " ms, table " << table << (spilled ? "" : ", spilled");
      }
    }
  }
}

}  // namespace strand::testing
