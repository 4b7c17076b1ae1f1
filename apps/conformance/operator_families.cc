// Keyed operators of the C++ API, with one or several subtasks.
#include <map>
#include <vector>

#include "base/ids.h"
#include "conformance/family.h"
#include "conformance/program.h"
#include "conformance/windows.h"
#include "ops/stream/process_operator.h"
#include "ops/stream/window_operator.h"
#include "sim/env/env.h"
#include "state/keyed/key_group.h"
#include "time/combined_status.h"

namespace strand::conformance {
namespace {

using ops::Record;

/// Writes down what a subtask emits in one step, with the timers that it came from.
class Recorder : public ops::StreamOutput {
 public:
  explicit Recorder(int32_t subtask) : subtask_(subtask) {}
  void record(Record record) override {
    Json entry = make(Json::parse(record.payload), record.time);
    if (timer_) {
      entry[*timer_] = timer_time_;
      entry["firing"] = firing_;
    }
    out_.push_back(std::move(entry));
  }
  void late(const Record& record) override { late_.push_back(make({record.key, record.value}, record.time)); }
  void timer_begins(state::TimeDomain domain, int64_t time) override {
    timer_ = domain == state::TimeDomain::kEvent ? "event_timer" : "processing_timer";
    timer_time_ = time;
    ++firing_;
  }
  void timer_ends() override { timer_.reset(); }

  /// Moves what was written to the lists of all subtasks.
  void drain(Json& out, Json& late) {
    for (Json& entry : out_) out.push_back(std::move(entry));
    for (Json& entry : late_) late.push_back(std::move(entry));
    out_ = Json::array();
    late_ = Json::array();
    firing_ = 0;
  }

 private:
  Json make(Json value, std::optional<EventTime> time) const {
    Json entry{{"v", std::move(value)}, {"ts", nullptr}};
    if (time) entry["ts"] = time->millis;
    if (subtask_ >= 0) entry["subtask"] = subtask_;
    return entry;
  }
  int32_t subtask_;  // -1: the only one
  Json out_ = Json::array();
  Json late_ = Json::array();
  std::optional<std::string> timer_;
  int64_t timer_time_ = 0;
  int64_t firing_ = 0;
};

/// What the families differ in.
struct Kind {
  size_t inputs = 1;
  bool broadcast = false;
  bool windows = false;
  /// Elements of two inputs, which have one watermark.
  bool sides = false;
  /// For the window families.
  std::function<Result<std::unique_ptr<ops::KeyedOperator>>(KeyGroupRange, const time::Floor&)> make;
};

class OperatorReplay : public Replay {
 public:
  OperatorReplay(Kind kind, const Json& config, const state::MakeSpillSpace& spill_space)
      : kind_(std::move(kind)),
        make_space_(spill_space),
        max_parallelism_(static_cast<int32_t>(number(config, "max_parallelism", 128))),
        inputs_(kind_.inputs),
        now_{number(config, "start_processing_time", 0)} {}

  Status start(int32_t parallelism) {
    STRAND_OK(env_.files.make_dirs("files"));
    STRAND_OK(open(parallelism, nullptr));
    for (Lane& lane : lanes_) STRAND_OK(lane.op->advance_clock(now_, *lane.out));
    return {};
  }

  Result<Json> step(const Json& step) override {
    const std::string op = text(step, "op");
    const auto input = static_cast<size_t>(number(step, "input", 1)) - 1;
    if (op == "element") {
      STRAND_OK(element(input, step));
    } else if (op == "watermark") {
      STRAND_OK(watermark(input, {step.at("ts").get<int64_t>()}));
    } else if (op == "end") {
      for (size_t i = 0; i < kind_.inputs; ++i) STRAND_OK(watermark(i, EventTime::max()));
    } else if (op == "status") {
      STRAND_OK(status(input, flag(step, "idle")));
    } else if (op == "processing_time") {
      now_ = {step.at("ts").get<int64_t>()};
      for (Lane& lane : lanes_) STRAND_OK(lane.op->advance_clock(now_, *lane.out));
    } else if (op == "snapshot") {
      STRAND_OK(snapshot(step.at("id").get<int64_t>()));
    } else if (op == "restore") {
      const Snapshot& from = snapshots_.at(step.at("id").get<int64_t>());
      const int64_t parallelism = number(step, "parallelism", static_cast<int64_t>(lanes_.size()));
      STRAND_OK(open(static_cast<int32_t>(parallelism), &from));
      if (flag(step, "keeps_inputs")) return drain();
      inputs_ = time::CombinedStatus(kind_.inputs);
      for (Lane& lane : lanes_) STRAND_OK(lane.op->advance_clock(now_, *lane.out));
    } else {
      return Status(ErrorCode::kBadUsage, "unknown step " + step.dump());
    }
    return drain();
  }

 private:
  struct Lane {
    std::unique_ptr<ops::KeyedOperator> op;
    std::unique_ptr<Recorder> out;
    KeyGroupRange own;
    time::Floor floor;
  };
  struct Snapshot {
    std::vector<time::Floor::Part> floors;
    std::vector<state::SectionRef> keyed;
    std::vector<std::string> broadcast;
  };

  Status open(int32_t parallelism, const Snapshot* from) {
    lanes_.clear();
    if (make_space_) {
      STRAND_TRY(space_, make_space_(env_.files));
    }
    time::Floor floor;
    if (from != nullptr) {
      for (const auto& part : from->floors) floor.add(part.groups, part.floor);
    }
    for (int32_t i = 0; i < parallelism; ++i) {
      const KeyGroupRange own = range_of(i, parallelism, max_parallelism_);
      STRAND_TRY(auto op, kind_.make(own, floor));
      if (space_ != nullptr) op->spill_to(*space_);
      op->set_clock(now_);
      STRAND_OK(op->open());
      if (from != nullptr) STRAND_OK(load(*op, *from, static_cast<size_t>(i)));
      lanes_.push_back({std::move(op), std::make_unique<Recorder>(parallelism > 1 ? i : -1), own, floor});
    }
    return {};
  }

  Status load(ops::KeyedOperator& op, const Snapshot& from, size_t subtask) {
    state::SnapshotReader reader(env_.files, "files");
    std::vector<state::Section> parts;
    for (const state::SectionRef& ref : from.keyed) {
      STRAND_TRY(state::Section part, reader.read(ref));
      parts.push_back(std::move(part));
    }
    STRAND_OK(op.keyed_state().restore(parts));
    if (!kind_.broadcast) return {};
    return dynamic_cast<ops::BroadcastOperator&>(op).load_broadcast(
        from.broadcast[subtask % from.broadcast.size()]);
  }

  Status snapshot(int64_t id) {
    Snapshot& taken = snapshots_[id];
    taken = {};
    ++epoch_.value;
    for (const Lane& lane : lanes_) {
      state::SnapshotBuilder builder(epoch_, lane.own);
      builder.set_operator("operator");
      STRAND_OK(lane.op->keyed_state().snapshot(builder));
      STRAND_TRY(const auto refs, builder.write(env_.files, "files"));
      lane.op->keyed_state().written(epoch_, refs);
      taken.keyed.insert(taken.keyed.end(), refs.begin(), refs.end());
      const auto floors = lane.floor.at_barrier(lane.own, lane.op->watermark());
      taken.floors.insert(taken.floors.end(), floors.begin(), floors.end());
      if (kind_.broadcast)
        taken.broadcast.push_back(dynamic_cast<ops::BroadcastOperator&>(*lane.op).save_broadcast());
    }
    return {};
  }

  Status element(size_t input, const Json& step) {
    Record record{step.at("key").get<std::string>(), number(step, "value", 0), "", {}};
    if (step.contains("cmds")) record.payload = step.at("cmds").dump();
    if (step.contains("gap")) record.payload = step.at("gap").dump();
    if (step.contains("ts") && !step.at("ts").is_null())
      record.time = EventTime{step.at("ts").get<int64_t>()};
    if (kind_.broadcast && input == 1) {
      for (Lane& lane : lanes_) {
        STRAND_OK(dynamic_cast<ops::BroadcastOperator&>(*lane.op).broadcast(record, *lane.out));
        STRAND_OK(lane.op->make_room());
      }
      return {};
    }
    const int32_t group = state::stream_key_group(state::java_hash::of_string(record.key), max_parallelism_);
    Lane& lane =
        lanes_[static_cast<size_t>(owner_of(group, static_cast<int32_t>(lanes_.size()), max_parallelism_))];
    if (kind_.sides)
      record = ops::of_side(input == 0 ? ops::JoinSide::kLeft : ops::JoinSide::kRight, std::move(record));
    const ops::KeyedOperator::Coming coming{group, record.key, record.time};
    STRAND_OK(lane.op->bring_back({&coming, 1}));
    STRAND_OK(lane.op->process(static_cast<int>(input) + 1, group, record, *lane.out));
    return lane.op->make_room();
  }

  Status watermark(size_t input, EventTime time) {
    if (kind_.inputs == 1) return advance(time);
    return inputs_.update_watermark(input, time) ? advance(inputs_.combined()) : Status();
  }
  Status status(size_t input, bool idle) {
    if (kind_.inputs == 1) {
      statuses_.push_back(idle ? "idle" : "active");
      return {};
    }
    const bool was_idle = inputs_.idle();
    if (inputs_.update_idle(input, idle)) STRAND_OK(advance(inputs_.combined()));
    if (was_idle != inputs_.idle()) statuses_.push_back(inputs_.idle() ? "idle" : "active");
    return {};
  }
  Status advance(EventTime time) {
    for (Lane& lane : lanes_) STRAND_OK(lane.op->advance(time, *lane.out));
    watermarks_.push_back(time.millis);
    return {};
  }

  Json drain() {
    Json out = Json::array();
    Json late = Json::array();
    int64_t timers[2] = {0, 0};
    int64_t entries = 0;
    int64_t dropped = 0;
    for (Lane& lane : lanes_) {
      lane.out->drain(out, late);
      timers[0] += lane.op->keyed_state().timers(state::TimeDomain::kEvent).size();
      timers[1] += lane.op->keyed_state().timers(state::TimeDomain::kProcessing).size();
      entries += lane.op->keyed_state().entries();
      if (kind_.windows) dropped += dynamic_cast<ops::StreamWindowOperator&>(*lane.op).dropped();
    }
    Json result{{"timers", timers}, {"entries", entries}};
    if (kind_.windows) result["dropped"] = dropped;
    if (!out.empty()) result["out"] = std::move(out);
    if (!late.empty()) result["late"] = std::move(late);
    if (!watermarks_.empty()) result["wm"] = std::exchange(watermarks_, Json::array());
    if (!statuses_.empty()) result["status"] = std::exchange(statuses_, Json::array());
    return result;
  }

  Kind kind_;
  sim::SimEnv env_{0, WallTime{0}};
  state::MakeSpillSpace make_space_;
  std::unique_ptr<state::SpillSpace> space_;  // of all subtasks since the last restore; or null
  Epoch epoch_{0};                            // of the newest snapshot: none is used twice
  int32_t max_parallelism_;
  time::CombinedStatus inputs_;
  WallTime now_;
  std::vector<Lane> lanes_;
  std::map<int64_t, Snapshot> snapshots_;
  Json watermarks_ = Json::array();
  Json statuses_ = Json::array();
};

std::optional<Kind> kind_of(const std::string& family, const Json& config) {
  if (family == "process" || family == "co_process") {
    return Kind{
        family == "process" ? 1u : 2u, false, false, false,
        [config](KeyGroupRange own, const time::Floor&) -> Result<std::unique_ptr<ops::KeyedOperator>> {
          return std::unique_ptr<ops::KeyedOperator>(new ops::ProcessOperator(own, make_program(config)));
        }};
  }
  if (family == "broadcast") {
    return Kind{
        2, true, false, false,
        [config](KeyGroupRange own, const time::Floor&) -> Result<std::unique_ptr<ops::KeyedOperator>> {
          return std::unique_ptr<ops::KeyedOperator>(
              new ops::BroadcastOperator(own, make_broadcast_program(config)));
        }};
  }
  if (family == "window") {
    return Kind{
        1, false, true, false,
        [config](KeyGroupRange own, const time::Floor& floor) -> Result<std::unique_ptr<ops::KeyedOperator>> {
          STRAND_TRY(std::unique_ptr<ops::KeyedOperator> op, make_window(config, own, floor));
          return op;
        }};
  }
  if (family == "window_join") {
    return Kind{
        1, false, true, true,
        [config](KeyGroupRange own, const time::Floor& floor) -> Result<std::unique_ptr<ops::KeyedOperator>> {
          STRAND_TRY(std::unique_ptr<ops::KeyedOperator> op, make_window_join(config, own, floor));
          return op;
        }};
  }
  return std::nullopt;
}

}  // namespace

std::optional<Family> make_operator_family(const std::string& family, const Json& config,
                                           const state::MakeSpillSpace& spill_space) {
  auto kind = kind_of(family, config);
  if (!kind) return std::nullopt;
  Family made;
  made.restorable = true;
  // The pairs of a session come in no order.
  const bool pairs =
      kind->sides && text(config, "kind") == "join" && text(config.at("assigner"), "type") == "session";
  made.comparison = pairs ? Comparison::kAnyOrder : Comparison::kTimers;
  auto replay = std::make_unique<OperatorReplay>(std::move(*kind), config, spill_space);
  made.refused = replay->start(static_cast<int32_t>(number(config, "parallelism", 1)));
  made.replay = std::move(replay);
  return made;
}

}  // namespace strand::conformance
