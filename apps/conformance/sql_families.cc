// Operators of SQL plans, row by row: (key STRING, value BIGINT, rowtime).
#include <map>
#include <vector>

#include "base/random.h"
#include "columnar/batch.h"
#include "conformance/family.h"
#include "ops/operators.h"
#include "sim/env/env.h"

namespace strand::conformance {
namespace {

using columnar::TypeKind;

constexpr int32_t kGroups = 128;

struct Rows {
  static columnar::SchemaPtr schema(bool zoned) {
    return std::make_shared<const columnar::Schema>(
        std::vector<columnar::Field>{{"key", columnar::make_type(TypeKind::kString)},
                                     {"value", columnar::make_type(TypeKind::kBigInt)},
                                     {"rowtime", columnar::timestamp_type(3, zoned)}});
  }
  static Result<columnar::Batch> one(const columnar::SchemaPtr& schema, const Json& step) {
    const auto time = step.find("ts");
    if (time == step.end() || time->is_null()) {
      return Status(ErrorCode::kMissingEventTime, "expected an event time, found NULL");
    }
    columnar::BatchBuilder builder(schema);
    builder.column(0).append_string(step.at("key").get<std::string>());
    builder.column(1).append(number(step, "value", 0));
    builder.column(2).append(time->get<int64_t>());
    builder.end_row();
    return builder.finish();
  }
};

std::optional<expr::WindowKind> window_kind(const std::string& assigner) {
  static const std::map<std::string, expr::WindowKind> kKinds = {{"tumble", expr::WindowKind::kTumble},
                                                                 {"hop", expr::WindowKind::kHop},
                                                                 {"cumulate", expr::WindowKind::kCumulate},
                                                                 {"session", expr::WindowKind::kSession}};
  const auto found = kKinds.find(assigner);
  if (found == kKinds.end()) return std::nullopt;
  return found->second;
}

/// SELECT key, window_start, window_end, window_time, SUM(value), COUNT(*) of a window
ops::WindowOptions window_options(const Json& config, expr::WindowKind kind) {
  const std::string zone = text(config, "zone", "UTC");
  const auto bigint = columnar::make_type(TypeKind::kBigInt);
  const auto local = columnar::timestamp_type(3, false, false);
  const Json& assigner = config.at("assigner");
  ops::WindowOptions options;
  options.input = Rows::schema(zone != "UTC");
  options.keys = {0};
  options.time_column = 2;
  options.kind = kind;
  options.size = {number(assigner, kind == expr::WindowKind::kSession ? "gap" : "size", 0)};
  options.step = {number(assigner, kind == expr::WindowKind::kHop ? "slide" : "step", 0)};
  options.offset = {number(assigner, "offset", 0)};
  options.zone = zone;
  const auto count = columnar::make_type(TypeKind::kBigInt, false);
  options.aggregates = {{expr::Aggregate::Kind::kSum, 1, bigint, bigint, "total"},
                        {expr::Aggregate::Kind::kCountStar, 0, nullptr, count, "n"}};
  std::vector<columnar::Field> output{
      (*options.input)[0],   {"window_start", local},
      {"window_end", local}, {"window_time", columnar::timestamp_type(3, zone != "UTC", false)},
      {"total", bigint},     {"n", count}};
  std::vector<columnar::Field> late = options.input->fields();
  late.push_back({"window_start", local});
  late.push_back({"window_end", local});
  late.push_back({"judge", columnar::timestamp_type(3, true, false)});
  late.push_back({"fully_late", columnar::make_type(TypeKind::kBoolean, false)});
  options.output = std::make_shared<const columnar::Schema>(std::move(output));
  options.late_output = std::make_shared<const columnar::Schema>(std::move(late));
  return options;
}

/// Writes results as [kind, key, start, end, sum, count].
class Collector : public flow::Emitter {
 public:
  Status emit(Port port, columnar::Batch batch) override {
    if (port == Port::kMain) batch.for_each_row([&](int64_t row) { write(batch, row); });
    return {};
  }
  bool wanted(Port) const override { return true; }
  Json take() { return std::exchange(out_, Json::array()); }

 private:
  void write(const columnar::Batch& batch, int64_t row) {
    Json value{columnar::to_string(batch.kind(row)), batch.column(0).string(row)};
    for (const size_t column : {size_t{1}, size_t{2}, size_t{4}, size_t{5}}) {
      value.push_back(batch.column(column).values<int64_t>()[row]);
    }
    out_.push_back({{"v", std::move(value)}});
  }
  Json out_ = Json::array();
};

class WindowReplay : public Replay {
 public:
  WindowReplay(const Json& config, expr::WindowKind kind)
      : options_(window_options(config, kind)),
        parallelism_(static_cast<int32_t>(number(config, "parallelism", 1))) {}

  Status start() {
    STRAND_OK(env_.files.make_dirs("files"));
    return open(parallelism_, nullptr);
  }

  Result<Json> step(const Json& step) override {
    const std::string op = text(step, "op");
    if (op == "element") {
      STRAND_OK(element(step));
    } else if (op == "watermark" || op == "end") {
      STRAND_OK(advance(op == "end" ? EventTime::max() : EventTime{step.at("ts").get<int64_t>()}));
    } else if (op == "snapshot") {
      STRAND_OK(snapshot(step.at("id").get<int64_t>()));
    } else if (op == "restore") {
      const auto same = static_cast<int64_t>(lanes_.size());
      STRAND_OK(open(static_cast<int32_t>(number(step, "parallelism", same)),
                     &snapshots_.at(step.at("id").get<int64_t>())));
    } else if (op != "processing_time") {
      return Status(ErrorCode::kBadUsage, "unknown step " + step.dump());
    }
    return result(op == "end");
  }

 private:
  struct Lane {
    flow::OperatorContext context;
    obs::Ledger ledger;
    ops::OperatorPtr op;
  };
  struct Snapshot {
    std::vector<state::SectionRef> sections;
    std::vector<time::Floor::Part> floors;
  };

  Status open(int32_t parallelism, const Snapshot* from) {
    lanes_.clear();
    for (int32_t i = 0; i < parallelism; ++i) {
      auto lane = std::make_unique<Lane>();
      lane->context.operator_id = "window";
      lane->context.subtask = i;
      lane->context.parallelism = parallelism;
      lane->context.key_groups = range_of(i, parallelism, kGroups);
      lane->context.ledger = &lane->ledger;
      lane->context.memory = &memory_;
      STRAND_TRY(lane->op, ops::make_window_aggregate(options_));
      if (from != nullptr) {
        for (const auto& part : from->floors) lane->context.floor.add(part.groups, part.floor);
      }
      STRAND_OK(lane->op->open(lane->context));
      if (from != nullptr) STRAND_OK(load(*lane, *from));
      lanes_.push_back(std::move(lane));
    }
    return {};
  }

  Status load(Lane& lane, const Snapshot& from) {
    state::SnapshotReader reader(env_.files, "files");
    std::vector<state::Section> parts;
    for (const auto& ref : from.sections) {
      if (!ref.groups.overlaps(lane.context.key_groups)) continue;
      STRAND_TRY(state::Section section, reader.read(ref));
      parts.push_back(std::move(section));
    }
    return parts.empty() ? Status() : lane.op->restore(parts);
  }

  Status snapshot(int64_t id) {
    Snapshot& taken = snapshots_[id];
    taken = {};
    for (const auto& lane : lanes_) {
      state::SnapshotBuilder builder(Epoch{id}, lane->context.key_groups);
      builder.set_operator(lane->context.operator_id);
      STRAND_OK(lane->op->before_barrier(out_));
      STRAND_OK(lane->op->snapshot(Epoch{id}, builder));
      STRAND_TRY(const auto refs, builder.write(env_.files, "files"));
      lane->op->snapshot_written(Epoch{id}, refs);
      taken.sections.insert(taken.sections.end(), refs.begin(), refs.end());
      const auto floors = lane->context.floor.at_barrier(lane->context.key_groups, lane->context.watermark);
      taken.floors.insert(taken.floors.end(), floors.begin(), floors.end());
    }
    return {};
  }

  Status element(const Json& step) {
    STRAND_TRY(const columnar::Batch row, Rows::one(options_.input, step));
    std::vector<uint64_t> hashes;
    columnar::hash_rows(row, options_.keys, hashes);
    const int32_t group = columnar::key_group(hashes.front(), kGroups);
    const auto owner = static_cast<size_t>(owner_of(group, static_cast<int32_t>(lanes_.size()), kGroups));
    return lanes_[owner]->op->process(0, row, out_);
  }

  /// The operator's time is never behind its floor, and that is what it passes on.
  Status advance(EventTime time) {
    EventTime passed = time;
    for (const auto& lane : lanes_) {
      passed = std::max({passed, lane->context.watermark, lane->context.floor.lowest()});
      lane->context.watermark = std::max(lane->context.watermark, time);
      STRAND_OK(lane->op->advance(out_));
    }
    watermarks_.push_back(passed.millis);
    return {};
  }

  /// At the end nothing may be left; before it, Flink's numbers do not count the rows that it buffers.
  Json result(bool ended) {
    int64_t dropped = 0;
    for (const auto& lane : lanes_) dropped += lane->ledger[obs::Entry::kLate];
    Json result{{"dropped", dropped}};
    if (ended) {
      int64_t entries = 0;
      for (const auto& lane : lanes_) entries += lane->op->state_rows();
      result["entries"] = entries;
      result["timers"] = {0, 0};
    }
    if (Json out = out_.take(); !out.empty()) result["out"] = std::move(out);
    if (!watermarks_.empty()) result["wm"] = std::exchange(watermarks_, Json::array());
    return result;
  }

  ops::WindowOptions options_;
  int32_t parallelism_;
  sim::SimEnv env_{0, WallTime{0}};
  obs::MemoryAccount memory_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::map<int64_t, Snapshot> snapshots_;
  Collector out_;
  Json watermarks_ = Json::array();
};

}  // namespace

std::optional<Family> make_sql_family(const std::string& family, const Json& config) {
  if (family != "sql_window") return std::nullopt;
  Family made;
  made.comparison = Comparison::kRows;
  const std::string assigner = text(config.at("assigner"), "type");
  const auto kind = window_kind(assigner);
  if (!kind) {
    made.unsupported = "window " + assigner;
    return made;
  }
  auto replay = std::make_unique<WindowReplay>(config, *kind);
  made.refused = replay->start();
  made.replay = std::move(replay);
  return made;
}

}  // namespace strand::conformance
