#include "conformance/flow_replay.h"

#include <algorithm>

#include "columnar/batch.h"

namespace strand::conformance {

namespace {

constexpr int32_t kGroups = 128;

Status append_row(columnar::BatchBuilder& builder, const Json& step) {
  const auto time = step.find("ts");
  if (time == step.end() || time->is_null()) {
    return Status(ErrorCode::kMissingEventTime, "expected an event time, found NULL");
  }
  builder.column(0).append_string(step.at("key").get<std::string>());
  builder.column(1).append(number(step, "value", 0));
  builder.column(2).append(time->get<int64_t>());
  builder.end_row();
  return {};
}

}  // namespace

columnar::SchemaPtr keyed_rows_schema(bool zoned) {
  using columnar::TypeKind;
  return std::make_shared<const columnar::Schema>(
      std::vector<columnar::Field>{{"key", columnar::make_type(TypeKind::kString)},
                                   {"value", columnar::make_type(TypeKind::kBigInt)},
                                   {"rowtime", columnar::timestamp_type(3, zoned)}});
}

Status FlowReplay::Collector::emit(Port port, columnar::Batch batch) {
  const bool late = port == Port::kLate || port == Port::kLateRight;
  batch.for_each_row([&](int64_t row) {
    if (port == Port::kMain) {
      out_.push_back({{"v", job_.value(batch, row)}});
    } else if (late) {
      late_[port == Port::kLate ? 0 : 1].push_back(
          {{"v", {batch.column(0).string(row), batch.column(1).values<int64_t>()[row]}},
           {"ts", batch.column(2).values<int64_t>()[row]}});
    }
  });
  return {};
}

void FlowReplay::Collector::drain(Json& result) {
  if (!out_.empty()) result["out"] = std::exchange(out_, Json::array());
  const bool told[2] = {job_.late_left, job_.late_right};
  for (size_t side = 0; side < 2; ++side) {
    Json rows = std::exchange(late_[side], Json::array());
    if (told[side] && !rows.empty()) result[side == 0 ? "late_left" : "late_right"] = std::move(rows);
  }
}

FlowReplay::FlowReplay(FlowJob job, const Json& config, const state::MakeSpillSpace& spill_space)
    : job_(std::move(job)),
      parallelism_(static_cast<int32_t>(number(config, "parallelism", 1))),
      make_space_(spill_space),
      inputs_(job_.inputs),
      out_(job_) {}

Status FlowReplay::start() {
  STRAND_OK(env_.files.make_dirs("files"));
  return open(parallelism_, nullptr);
}

Result<Json> FlowReplay::step(const Json& step) {
  const std::string op = text(step, "op");
  const auto input = static_cast<size_t>(number(step, "input", 1)) - 1;
  if (op == "element") return elements(std::span(&step, 1));
  if (op == "watermark") {
    STRAND_OK(watermark(input, EventTime{step.at("ts").get<int64_t>()}));
  } else if (op == "end") {
    for (size_t i = 0; i < job_.inputs; ++i) STRAND_OK(watermark(i, EventTime::max()));
  } else if (op == "status") {
    STRAND_OK(status(input, flag(step, "idle")));
  } else if (op == "snapshot") {
    STRAND_OK(snapshot(step.at("id").get<int64_t>()));
  } else if (op == "restore") {
    const auto same = static_cast<int64_t>(lanes_.size());
    if (!flag(step, "keeps_inputs")) inputs_ = time::CombinedStatus(job_.inputs);
    STRAND_OK(open(static_cast<int32_t>(number(step, "parallelism", same)),
                   &snapshots_.at(step.at("id").get<int64_t>())));
  } else if (op != "processing_time") {
    return Status(ErrorCode::kBadUsage, "unknown step " + step.dump());
  }
  return result(op == "end");
}

Status FlowReplay::open(int32_t parallelism, const Snapshot* from) {
  lanes_.clear();
  if (make_space_) {
    STRAND_TRY(space_, make_space_(env_.files));
  }
  for (int32_t i = 0; i < parallelism; ++i) {
    auto lane = std::make_unique<Lane>();
    lane->context.operator_id = "operator";
    lane->context.subtask = i;
    lane->context.parallelism = parallelism;
    lane->context.key_groups = range_of(i, parallelism, kGroups);
    lane->context.ledger = &lane->ledger;
    lane->context.memory = &memory_;
    lane->context.spill = space_.get();
    STRAND_TRY(lane->op, job_.make());
    if (from != nullptr && job_.floor) {
      for (const auto& part : from->floors) lane->context.floor.add(part.groups, part.floor);
    }
    STRAND_OK(lane->op->open(lane->context));
    if (from != nullptr) STRAND_OK(load(*lane, *from));
    lanes_.push_back(std::move(lane));
  }
  return {};
}

Status FlowReplay::load(Lane& lane, const Snapshot& from) {
  state::SnapshotReader reader(env_.files, "files");
  std::vector<state::Section> parts;
  for (const auto& ref : from.sections) {
    if (!ref.groups.overlaps(lane.context.key_groups)) continue;
    STRAND_TRY(state::Section section, reader.read(ref));
    parts.push_back(std::move(section));
  }
  return parts.empty() ? Status() : lane.op->restore(parts);
}

Status FlowReplay::snapshot(int64_t id) {
  Snapshot& taken = snapshots_[id];
  taken = {};
  ++epoch_.value;
  for (const auto& lane : lanes_) {
    state::SnapshotBuilder builder(epoch_, lane->context.key_groups);
    builder.set_operator(lane->context.operator_id);
    STRAND_OK(lane->op->before_barrier(out_));
    STRAND_OK(lane->op->snapshot(epoch_, builder));
    STRAND_TRY(const auto refs, builder.write(env_.files, "files"));
    lane->op->snapshot_written(epoch_, refs);
    taken.sections.insert(taken.sections.end(), refs.begin(), refs.end());
    const auto floors = lane->context.floor.at_barrier(lane->context.key_groups, lane->context.watermark);
    taken.floors.insert(taken.floors.end(), floors.begin(), floors.end());
  }
  return {};
}

Result<Json> FlowReplay::elements(std::span<const Json> steps) {
  std::vector<columnar::BatchBuilder> by_lane;
  for (size_t lane = 0; lane < lanes_.size(); ++lane) by_lane.emplace_back(job_.input);
  for (const Json& step : steps) {
    columnar::BatchBuilder one(job_.input);
    STRAND_OK(append_row(one, step));
    const columnar::Batch row = one.finish();
    std::vector<uint64_t> hashes;
    columnar::hash_rows(row, std::vector<size_t>{0}, hashes);
    const int32_t group = columnar::key_group(hashes.front(), kGroups);
    STRAND_OK(append_row(
        by_lane[static_cast<size_t>(owner_of(group, static_cast<int32_t>(lanes_.size()), kGroups))], step));
  }
  const auto input = static_cast<int>(number(steps.front(), "input", 1)) - 1;
  for (size_t lane = 0; lane < lanes_.size(); ++lane) {
    const columnar::Batch rows = by_lane[lane].finish();
    if (rows.rows() > 0) STRAND_OK(lanes_[lane]->op->process(input, rows, out_));
  }
  return result(false);
}

Status FlowReplay::watermark(size_t input, EventTime time) {
  if (job_.inputs == 1) return advance(time);
  return inputs_.update_watermark(input, time) ? advance(inputs_.combined()) : Status();
}

Status FlowReplay::status(size_t input, bool idle) {
  const bool was_idle = inputs_.idle();
  if (inputs_.update_idle(input, idle)) STRAND_OK(advance(inputs_.combined()));
  if (was_idle != inputs_.idle()) statuses_.push_back(inputs_.idle() ? "idle" : "active");
  return {};
}

/// The operator's time is never behind its floor, and that is what it passes on.
Status FlowReplay::advance(EventTime time) {
  EventTime passed = time;
  for (const auto& lane : lanes_) {
    if (job_.floor) passed = std::max({passed, lane->context.watermark, lane->context.floor.lowest()});
    lane->context.watermark = std::max(lane->context.watermark, time);
    STRAND_OK(lane->op->advance(out_));
  }
  watermarks_.push_back((passed - lanes_.front()->op->watermark_delay()).millis);
  return {};
}

/// At the end nothing may be left; before it, Flink's numbers do not count the rows that it buffers.
Json FlowReplay::result(bool ended) {
  Json result = Json::object();
  if (ended) {
    int64_t entries = 0;
    for (const auto& lane : lanes_) entries += lane->op->state_rows();
    result["entries"] = entries;
    result["timers"] = {0, 0};
  }
  if (job_.counts_late) {
    int64_t dropped = 0;
    for (const auto& lane : lanes_) dropped += lane->ledger[obs::Entry::kLate];
    result["dropped"] = dropped;
  }
  out_.drain(result);
  if (!watermarks_.empty()) result["wm"] = std::exchange(watermarks_, Json::array());
  if (!statuses_.empty()) result["status"] = std::exchange(statuses_, Json::array());
  return result;
}

}  // namespace strand::conformance
