// Replays a case on an operator of SQL plans, with one or two inputs and one or several subtasks.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "conformance/family.h"
#include "ops/operators.h"
#include "sim/env/env.h"
#include "state/spill/spill.h"
#include "time/combined_status.h"

namespace strand::conformance {

/// key STRING, value BIGINT, rowtime TIMESTAMP(3), or _LTZ(3).
columnar::SchemaPtr keyed_rows_schema(bool zoned = false);

struct FlowJob {
  std::function<Result<ops::OperatorPtr>()> make;
  size_t inputs = 1;
  columnar::SchemaPtr input = keyed_rows_schema();  // of each
  /// A row of kMain as the case writes it.
  std::function<Json(const columnar::Batch& batch, int64_t row)> value;
  /// Whether restores keep the floor, as Flink's operator does.
  bool floor = false;
  /// Late rows are counted as dropped; else they go to the side outputs that the case names.
  bool counts_late = false;
  bool late_left = false;
  bool late_right = false;
};

class FlowReplay : public Replay {
 public:
  FlowReplay(FlowJob job, const Json& config, const state::MakeSpillSpace& spill_space);
  Status start();
  Result<Json> step(const Json& step) override;
  bool takes_batches() const override { return true; }
  Result<Json> elements(std::span<const Json> steps) override;

 private:
  /// Writes down what all subtasks emit.
  class Collector : public flow::Emitter {
   public:
    explicit Collector(const FlowJob& job) : job_(job) {}
    Status emit(Port port, columnar::Batch batch) override;
    bool wanted(Port port) const override { return port != Port::kDuplicate; }
    void drain(Json& result);

   private:
    const FlowJob& job_;
    Json out_ = Json::array();
    Json late_[2] = {Json::array(), Json::array()};
  };
  struct Lane {
    flow::OperatorContext context;
    obs::Ledger ledger;
    ops::OperatorPtr op;
  };
  struct Snapshot {
    std::vector<state::SectionRef> sections;
    std::vector<time::Floor::Part> floors;
  };

  Status open(int32_t parallelism, const Snapshot* from);
  Status load(Lane& lane, const Snapshot& from);
  Status snapshot(int64_t id);
  Status watermark(size_t input, EventTime time);
  Status status(size_t input, bool idle);
  Status advance(EventTime time);
  Json result(bool ended);

  FlowJob job_;
  int32_t parallelism_;
  sim::SimEnv env_{0, WallTime{0}};
  state::MakeSpillSpace make_space_;
  std::unique_ptr<state::SpillSpace> space_;  // of all subtasks since the last restore; or null
  obs::MemoryAccount memory_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  time::CombinedStatus inputs_;
  std::map<int64_t, Snapshot> snapshots_;
  Epoch epoch_{0};  // of the newest snapshot: none is used twice
  Collector out_;
  Json watermarks_ = Json::array();
  Json statuses_ = Json::array();
};

}  // namespace strand::conformance
