// Operators of SQL plans, row by row: (key STRING, value BIGINT, rowtime).
#include <map>
#include <optional>

#include "conformance/family.h"
#include "conformance/flow_replay.h"
#include "ops/interval_join.h"
#include "ops/over_aggregate.h"
#include "ops/rowtime_deduplicate.h"

namespace strand::conformance {
namespace {

using columnar::Batch;
using columnar::TypeKind;

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
  options.input = keyed_rows_schema(zone != "UTC");
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

Json long_or_null(const Batch& batch, size_t column, int64_t row) {
  if (batch.column(column).is_null(row)) return nullptr;
  return batch.column(column).values<int64_t>()[row];
}
Json text_or_null(const Batch& batch, size_t column, int64_t row) {
  if (batch.column(column).is_null(row)) return nullptr;
  return batch.column(column).string(row);
}

/// [kind, key, start, end, sum, count]
Json window_value(const Batch& batch, int64_t row) {
  Json value{columnar::to_string(batch.kind(row)), batch.column(0).string(row)};
  for (const size_t column : {size_t{1}, size_t{2}, size_t{4}, size_t{5}})
    value.push_back(long_or_null(batch, column, row));
  return value;
}

FlowJob window_job(const Json& config, expr::WindowKind kind) {
  const ops::WindowOptions options = window_options(config, kind);
  return {.make = [options] { return ops::make_window_aggregate(options); },
          .input = options.input,
          .value = window_value,
          .floor = true,
          .counts_late = true};
}

ops::IntervalJoinOptions join_options() {
  ops::IntervalJoinOptions options;
  std::vector<columnar::Field> fields;
  for (auto& side : options.sides) {
    side.schema = keyed_rows_schema();
    side.keys = {0};
    side.time_column = 2;
    fields.insert(fields.end(), side.schema->fields().begin(), side.schema->fields().end());
  }
  options.output = std::make_shared<const columnar::Schema>(std::move(fields));
  return options;
}

/// Values are [key, left value, right value, left time, right time].
FlowJob stream_join_job(const Json& config) {
  ops::IntervalJoinOptions options = join_options();
  options.rules = ops::IntervalJoinOptions::Rules::kStream;
  options.lower = {config.at("lower").get<int64_t>() + (flag(config, "lower_exclusive") ? 1 : 0)};
  options.upper = {config.at("upper").get<int64_t>() - (flag(config, "upper_exclusive") ? 1 : 0)};
  return {.make = [options] { return ops::make_interval_join(options); },
          .inputs = 2,
          .value =
              [](const Batch& batch, int64_t row) {
                Json value{batch.column(0).string(row)};
                for (const size_t column : {size_t{1}, size_t{4}, size_t{2}, size_t{5}})
                  value.push_back(long_or_null(batch, column, row));
                return value;
              },
          .late_left = flag(config, "late_left"),
          .late_right = flag(config, "late_right")};
}

/// The case says: left.rowtime between right.rowtime + lower and right.rowtime + upper.
FlowJob sql_join_job(const Json& config) {
  ops::IntervalJoinOptions options = join_options();
  options.lower = {-config.at("upper").get<int64_t>()};
  options.upper = {-config.at("lower").get<int64_t>()};
  const std::string join = text(config, "join");
  options.flink_restore = config.value(kFlinkRestore, true);
  options.sides[0].outer = join == "LEFT" || join == "FULL";
  options.sides[1].outer = join == "RIGHT" || join == "FULL";
  return {.make = [options] { return ops::make_interval_join(options); },
          .inputs = 2,
          .value =
              [](const Batch& batch, int64_t row) {
                Json value{columnar::to_string(batch.kind(row))};
                for (const size_t first : {size_t{0}, size_t{3}}) {
                  value.push_back(text_or_null(batch, first, row));
                  value.push_back(long_or_null(batch, first + 1, row));
                  value.push_back(long_or_null(batch, first + 2, row));
                }
                return value;
              }};
}

/// [kind, key, value, rowtime, further BIGINT columns]
Json keyed_row(const Batch& batch, int64_t row) {
  Json value{columnar::to_string(batch.kind(row)), text_or_null(batch, 0, row)};
  for (size_t column = 1; column < batch.columns().size(); ++column)
    value.push_back(long_or_null(batch, column, row));
  return value;
}

/// SUM(value) and COUNT(*) OVER (PARTITION BY key ORDER BY rowtime ...)
FlowJob over_job(const Json& config) {
  const auto bigint = columnar::make_type(TypeKind::kBigInt);
  const auto count = columnar::make_type(TypeKind::kBigInt, false);
  ops::OverOptions options;
  options.input = keyed_rows_schema();
  options.keys = {0};
  options.time_column = 2;
  options.range = text(config, "frame") == "range";
  if (config.contains("preceding")) options.preceding = number(config, "preceding", 0);
  options.aggregates = {{expr::Aggregate::Kind::kSum, 1, bigint, bigint, "total"},
                        {expr::Aggregate::Kind::kCountStar, 0, nullptr, count, "n"}};
  std::vector<columnar::Field> output = options.input->fields();
  output.push_back({"total", bigint});
  output.push_back({"n", count});
  options.output = std::make_shared<const columnar::Schema>(std::move(output));
  return {.make = [options] { return ops::make_over_aggregate(options); },
          .value = keyed_row,
          .counts_late = true};
}

FlowJob deduplicate_job(const Json& config) {
  ops::RowtimeDeduplicateOptions options;
  options.input = keyed_rows_schema();
  options.keys = {0};
  options.time_column = 2;
  options.last = text(config, "keep") == "last";
  options.wait = flag(config, "insert_only");
  options.update_before = flag(config, "update_before");
  return {.make = [options] { return ops::make_rowtime_deduplicate(options); },
          .value = keyed_row,
          .counts_late = options.wait};
}

}  // namespace

std::optional<Family> make_sql_family(const std::string& family, const Json& config,
                                      const state::MakeSpillSpace& spill_space) {
  Family made;
  std::optional<FlowJob> job;
  if (family == "sql_window") {
    made.comparison = Comparison::kRows;
    const std::string assigner = text(config.at("assigner"), "type");
    const auto kind = window_kind(assigner);
    if (!kind) {
      made.unsupported = "window " + assigner;
      return made;
    }
    job = window_job(config, *kind);
  } else if (family == "interval_join" || family == "sql_interval_join") {
    made.comparison = Comparison::kAnyOrder;
    job = family == "interval_join" ? stream_join_job(config) : sql_join_job(config);
  } else if (family == "sql_over" || family == "sql_deduplicate") {
    made.comparison = Comparison::kByKey;
    job = family == "sql_over" ? over_job(config) : deduplicate_job(config);
  } else {
    return std::nullopt;
  }
  if (!config.value(kFlinkRestore, true)) job->floor = true;
  made.restorable = true;
  auto replay = std::make_unique<FlowReplay>(*std::move(job), config, spill_space);
  made.refused = replay->start();
  made.replay = std::move(replay);
  return made;
}

}  // namespace strand::conformance
