#include "sim/story/run.h"

#include <algorithm>

#include "checkpoint/store.h"
#include "sim/world/script_source.h"
#include "sim/world/virtual_driver.h"

namespace strand::sim {

namespace {

constexpr const char* kCheckpoints = "/state/checkpoints";
constexpr const char* kSavepoints = "/state/savepoints";
constexpr const char* kMinutes = "per_minute";
constexpr Duration kStep{100};
constexpr int64_t kFirstWorkerLane = 1'000;  // lanes below are those of tasks: snapshots

class CollectEvents final : public obs::EventSink {
 public:
  explicit CollectEvents(std::vector<obs::Event>& events) : events_(events) {}
  void on_event(obs::Event event) override { events_.push_back(std::move(event)); }

 private:
  std::vector<obs::Event>& events_;
};

StoryTable table_of(const SimStore& store, const std::string& table) {
  StoryTable out;
  for (const auto& [key, row] : store.tables().rows(table)) {
    StoryRow& to = out[story_key(row.name)];
    to["job_gen"] = row.job_gen;
    for (const auto& [writer, cell] : row.writers) {
      for (size_t i = 0; i < cell.columns.size(); ++i) {
        if (cell.values[i]) to[cell.columns[i]] = std::stoll(*cell.values[i]);
      }
      to[writer + "_ckpt"] = cell.tag.epoch.value;
    }
  }
  return out;
}

}  // namespace

/// Leads one run through the story.
class StoryDriver {
 public:
  StoryDriver(const plan::Plan& plan, const StoryBranch& branch, StoryRun& run)
      : first_plan_(plan),
        plan_(&plan),
        branch_(branch),
        run_(run),
        start_(story_time("10:12:30")),
        world_(0, start_),
        store_(SimStore::Options{true, branch.rules}),
        events_(run.events_) {
    for (const StoryClick& click : branch.clicks) script_->add_shard(click.shard);
    for (const std::string& shard : branch.empty_shards) script_->add_shard(shard);
    for (const StoryClick& click : by_read_time()) script_->add(click.shard, click.read, story_line(click));
    registry_.add("script", script_connector(script_));
    registry_.add("storystore",
                  story_store(&store_, branch.rules, branch.write_takes.has_value(), &run_.writes_));
    registry_.add("storytopic", story_topic(&store_, &run_.topic_));
    registry_.add("storylog", story_log(&run_.exceptions_));
    world_.executor.set_delay([this](uint64_t lane) {
      if (attempt_ == nullptr) return Duration{0};  // a start puts state back
      if (lane == kStoryTables)
        return world_.clock.now() < kSlowFrom ? Duration{0} : branch_.write_takes.value_or(Duration{0});
      if (lane >= kFirstWorkerLane) return Duration{0};
      return slow(lane) ? kSlowSink
                        : std::prev(branch_.snapshot_takes.upper_bound(world_.clock.now()))->second;
    });
  }

  Status tell() {
    STRAND_TRY(auto store, checkpoint::Store::open(world_.files, kCheckpoints, kSavepoints, plan_->job));
    STRAND_OK(store.record_used(Epoch{36}));
    STRAND_OK(begin());
    run_.first_start_ = attempt_->restore_report();
    for (const WallTime at : branch_.crashes) {
      STRAND_OK(go(WallTime{at.millis - kStep.millis}));
      crash(at);
      if (branch_.restart_plan != nullptr) plan_ = branch_.restart_plan;
      const bool back = branch_.back_to && at == branch_.crashes.back();
      if (back) plan_ = &first_plan_;
      parallelism_ = branch_.restart_parallelism.value_or(parallelism_);
      using Choice = runtime::RestoreChoice;
      STRAND_OK(begin(back ? Choice{Choice::Kind::kPath, savepoint_} : Choice{}));
      run_.restore_ = attempt_->restore_report();
    }
    STRAND_OK(go(branch_.until));
    if (branch_.drain) STRAND_OK(drain());
    STRAND_OK(read_checkpoints());
    driver_.reset();
    attempt_.reset();
    return Status();
  }

 private:
  std::vector<StoryClick> by_read_time() const {
    std::vector<StoryClick> clicks = branch_.clicks;
    std::ranges::stable_sort(clicks, {}, &StoryClick::read);
    return clicks;
  }

  /// Before the crash, one sink is too slow to let barrier 42 through.
  bool slow(uint64_t lane) {
    const WallTime now = world_.clock.now();
    if (!branch_.slow_sink || now < kSlowFrom || now >= kSlowFrom + Duration{10'000}) return false;
    for (const auto& sink : attempt_->wiring().sinks) {
      if (sink->id() == static_cast<int32_t>(lane)) return true;
    }
    return false;
  }

  Status begin(const runtime::RestoreChoice& from = {}) {
    runtime::JobOptions options;
    options.job = plan_->job;
    options.checkpoint_dir = kCheckpoints;
    options.savepoint_dir = kSavepoints;
    options.parallelism = parallelism_;
    options.retained = 100;
    options.checkpoints.interval = branch_.checkpoint_interval;
    options.zone = plan_->setting("table.local-time-zone", "UTC");
    options.checkpoints.timeout = Duration{60'000};
    options.checkpoints.align_to_interval = true;
    options.generation = Generation{7};
    options.stream_time = branch_.stream_time;
    options.defences = branch_.defences;
    options.overtake_after = branch_.overtake_after;
    options.once = branch_.once;
    // Where a snapshot's rows were changed by later ones, a higher generation begins.
    if (from.kind == runtime::RestoreChoice::Kind::kPath) options.generation = Generation{8};
    if (branch_.future_skew) options.future_skew = *branch_.future_skew;
    STRAND_TRY(attempt_,
               runtime::JobAttempt::start(*plan_, registry_, options, from, world_.env(), &events_));
    driver_ = std::make_unique<VirtualDriver>(world_, *attempt_);
    lag_alarm_ = engine::LagAlarm(branch_.lag_alarm);
    return Status();
  }

  Status go(WallTime until) {
    while (true) {
      STRAND_OK(driver_->run_until(world_.clock.now()));
      note();
      if (branch_.back_to == world_.clock.now()) take_savepoint();
      if (world_.clock.now() >= until || attempt_->finished()) return Status();
      STRAND_OK(driver_->run_until(std::min(world_.clock.now() + branch_.note_every, until)));
    }
  }

  void take_savepoint() {
    attempt_->ask_savepoint(false, false,
                            [this](const Status&, const std::string& path) { savepoint_ = path; });
  }

  void crash(WallTime at) {
    world_.clock.advance(at - world_.clock.now());
    driver_.reset();
    attempt_.reset();
    store_.crash();
    world_.crash();
    for (; world_.clock.now() < at + kRestart; world_.clock.advance(branch_.note_every)) note();
    script_->not_before(world_.clock.now() + (branch_.once ? Duration{0} : kStep));
  }

  Status drain() {
    attempt_->ask_savepoint(true, true, [](const Status&, const std::string&) {});
    return go(branch_.until + Duration{60'000});
  }

  void note() {
    StoryMoment moment;
    moment.at = world_.clock.now();
    moment.metrics = table_of(store_, "ad_metrics");
    moment.running = table_of(store_, "ad_running");
    if (attempt_ != nullptr) {
      note_tasks(moment);
      if (auto alarm = lag_alarm_.look(moment.watermark, moment.at))
        run_.events_.push_back(*std::move(alarm));
    }
    run_.moments_.push_back(std::move(moment));
  }

  void note_tasks(StoryMoment& moment) {
    moment.alive = true;
    const runtime::AttemptView view = attempt_->view();
    moment.checkpoints = view.checkpoints;
    moment.watermark = moment.judge = EventTime::max();
    for (const auto& [name, task] : view.tasks) {
      for (const runtime::ShardView& shard : task.shards) {
        moment.shards[shard.shard.substr(shard.shard.find('/') + 1)] = shard;
      }
      for (const runtime::OperatorView& op : task.operators) {
        moment.state_rows[op.id] += op.state_rows;
        moment.ledgers[op.id] += op.ledger;
        moment.judges[op.id].push_back(op.judge);
        moment.rows_in[op.id].push_back(op.ledger[obs::Entry::kIn]);
        if (op.id != kMinutes && op.id != std::string(kMinutes) + "/window") continue;
        moment.watermark = std::min(moment.watermark, op.watermark);
        moment.judge = std::min(moment.judge, op.judge);
      }
    }
  }

  Status read_checkpoints() {
    STRAND_TRY(const auto store,
               checkpoint::Store::open(world_.files, kCheckpoints, kSavepoints, plan_->job));
    STRAND_TRY(const auto snapshots, store.list());
    std::set<std::string> partials;
    STRAND_TRY(const runtime::Graph graph, runtime::make_graph(*plan_, parallelism_, registry_));
    for (const auto& node : graph.nodes) {
      if (node.partial_input) partials.insert(node.id);
    }
    std::set<std::string> ids;
    for (const StoryClick& click : branch_.clicks) ids.insert(click.click_id);
    for (const auto& snapshot : snapshots) {
      if (snapshot.kind != checkpoint::SnapshotKind::kCheckpoint) continue;
      STRAND_TRY(const auto manifest, store.load(snapshot.path));
      STRAND_TRY(auto state,
                 read_story_state(*plan_, partials, manifest, world_.files, store.files_dir(), ids));
      run_.states_.emplace(state.epoch.value, std::move(state));
    }
    return Status();
  }

  static constexpr Duration kSlowSink{15'000};
  static constexpr Duration kRestart{50'000};
  const WallTime kSlowFrom = story_time("10:15:30");

  const plan::Plan& first_plan_;
  const plan::Plan* plan_;
  std::string savepoint_;
  const StoryBranch& branch_;
  StoryRun& run_;
  int32_t parallelism_ = branch_.parallelism;
  engine::LagAlarm lag_alarm_{{}};
  const WallTime start_;
  SimEnv world_;
  SimStore store_;
  CollectEvents events_;
  std::shared_ptr<Script> script_ = std::make_shared<Script>();
  connect::Registry registry_;
  std::unique_ptr<runtime::JobAttempt> attempt_;
  std::unique_ptr<VirtualDriver> driver_;
};

Result<std::unique_ptr<StoryRun>> StoryRun::make(const plan::Plan& plan, const StoryBranch& branch) {
  std::unique_ptr<StoryRun> run(new StoryRun());
  StoryDriver driver(plan, branch, *run);
  STRAND_OK(driver.tell());
  return run;
}

const StoryMoment& StoryRun::at(std::string_view time_of_day) const {
  const auto found = std::ranges::find(moments_, story_time(time_of_day), &StoryMoment::at);
  STRAND_CHECK(found != moments_.end());
  return *found;
}

std::optional<WallTime> StoryRun::completed(int64_t epoch) const {
  for (const obs::Event& event : events_) {
    if (event.name == "checkpoint" && event.field("id") == std::to_string(epoch) &&
        event.field("state") == "complete")
      return event.at;
  }
  return std::nullopt;
}

std::map<std::string, std::string> story_tables(const std::string& table) {
  if (table == "clicks") return {{"connector", "script"}};
  if (table == "exceptions") return {{"connector", "storylog"}};
  return {{"connector", "storystore"}};
}

}  // namespace strand::sim
