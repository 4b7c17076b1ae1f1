#include "engine/follow.h"

#include <algorithm>
#include <memory>
#include <mutex>

#include "base/floor_div.h"
#include "base/text.h"
#include "engine/hand_over.h"
#include "engine/recount.h"
#include "env/real.h"
#include "expr/compile.h"
#include "runtime/tables.h"

namespace strand::engine {

namespace {

/// How long a report waits for the next record of an input that says it has more.
constexpr Duration kNextRecordMax{30'000};

/// Not a name that a job file can use.
constexpr const char* kEyeConnector = "strandline-follow";

/// Looks at one output: takes the rows that hold the value.
struct Eye {
  std::pair<std::string, Port> of;
  std::optional<size_t> rowtime;
  std::mutex mutex;
  Sighting seen;

  void look(const flow::Batch& rows) {
    const std::lock_guard lock(mutex);
    seen.rows += rows.rows();
    rows.for_each_row([&](int64_t row) {
      if (seen.shown.size() >= Sighting::kShownMax) return;
      seen.shown.push_back(columnar::row_to_string(rows, row));
      if (!rowtime) return;
      const columnar::Column& time = rows.column(*rowtime);
      const int64_t units = columnar::timestamp_units(time.type()->precision) / 1000;
      seen.times.push_back(EventTime{floor_div(time.values<int64_t>()[row], units)});
    });
  }
};
using Eyes = std::vector<std::unique_ptr<Eye>>;

Result<expr::ExprPtr> holds_value(const columnar::Schema& schema, size_t column, const std::string& value) {
  const columnar::TypePtr text = columnar::make_type(columnar::TypeKind::kString);
  STRAND_TRY(auto cell, expr::resolve_cast(expr::column(column, schema[column].type), text));
  return expr::resolve_call("=",
                            {std::move(cell), expr::literal(value, columnar::with_nullable(text, false))});
}

/// A sink over the rows of `port` that hold the value.
Result<plan::NodePtr> eye_over(const plan::NodePtr& node, Port port, const RowChoice& choice, Eyes& eyes) {
  const columnar::SchemaPtr schema = node->schema(port);
  const std::string name = std::to_string(eyes.size());
  auto filter = std::make_shared<plan::Node>();
  STRAND_TRY(auto condition, holds_value(*schema, *schema->find(choice.column), choice.value));
  filter->id = "follow-filter-" + name;
  filter->detail = plan::Filter{std::move(condition)};
  filter->inputs = {{node, port}};
  filter->output = schema;
  plan::SinkWrite write;
  write.table.name = name;
  write.table.schema = schema;
  write.table.options = {{"connector", kEyeConnector}};
  for (const columnar::Field& field : schema->fields()) write.columns.push_back(field.name);
  auto sink = std::make_shared<plan::Node>();
  sink->id = "follow-" + name;
  sink->detail = std::move(write);
  sink->inputs = {{filter, Port::kMain}};
  auto eye = std::make_unique<Eye>();
  eye->of = {node->id, port};
  if (port == Port::kMain) eye->rowtime = node->rowtime;
  eyes.push_back(std::move(eye));
  return plan::NodePtr(sink);
}

bool has_column(const columnar::SchemaPtr& schema, const std::string& column) {
  return schema != nullptr && schema->find(column).has_value();
}

/// Only the eyes are its sinks: nothing else is written.
Result<plan::Plan> watched_plan(const plan::Plan& plan, const RowChoice& choice, Eyes& eyes) {
  plan::Plan out{plan.job, {}, plan.settings};
  for (const plan::NodePtr& node : plan.nodes()) {
    if (std::holds_alternative<plan::SinkWrite>(node->detail)) continue;
    if (has_column(node->output, choice.column)) {
      STRAND_TRY(auto eye, eye_over(node, Port::kMain, choice, eyes));
      out.sinks.push_back(std::move(eye));
    }
    for (const auto& [port, schema] : node->side_outputs) {
      if (port != Port::kDuplicate || !has_column(schema, choice.column)) continue;
      STRAND_TRY(auto eye, eye_over(node, port, choice, eyes));
      out.sinks.push_back(std::move(eye));
    }
  }
  return out;
}

/// Rows, or kEnded or kNothing where the input has no more. kSourceUnavailable: none came though it has more.
Result<flow::Polled> next_rows(flow::SourceReader& reader, const std::string& table, env::Clock& clock) {
  const int64_t begin = clock.steady_nanos();
  while (true) {
    STRAND_TRY(flow::Polled polled, reader.poll(clock.now()));
    if (!polled.behind) return polled;
    if (clock.steady_nanos() - begin >= kNextRecordMax.millis * 1'000'000) {
      const std::string reason = reader.waits_for();
      return Status(ErrorCode::kSourceUnavailable,
                    "expected the rest of the input within " + std::to_string(kNextRecordMax.millis / 1000) +
                        " s, found no record" + (reason.empty() ? "" : " (" + reason + ")"))
          .at("table " + table)
          .hint("see whether the source can be reached, and ask again");
    }
    env::sleep(Duration{1});
  }
}

/// Reads a table to its end, and tells of the records that hold the value.
Status find_records(const plan::Scan& declared, const RowChoice& choice, const runtime::Tables& tables,
                    env::Clock& clock, Followed& out) {
  plan::Scan scan = declared;
  read_to_present_end(scan);
  scan.read.clear();
  for (size_t i = 0; i < scan.table.schema->size(); ++i) scan.read.push_back(i);
  const size_t column = *scan.table.schema->find(choice.column);
  STRAND_TRY(const auto finder, tables.finder(scan, /*want_bad=*/true));
  STRAND_TRY(const auto reader, tables.reader(scan, /*want_bad=*/true));
  STRAND_TRY(const auto found, finder->find());
  std::vector<ShardState> shards;
  for (const std::string& shard : found) shards.push_back({shard, "", 0});
  STRAND_OK(finder->begin(shards, /*late=*/false));
  for (const ShardState& shard : shards) STRAND_OK(reader->assign(shard));
  while (out.records.size() < Sighting::kShownMax) {
    STRAND_TRY(const flow::Polled polled, next_rows(*reader, scan.table.name, clock));
    if (polled.kind != flow::Polled::Kind::kRows) break;
    const ShardState state = reader->state(polled.shard);
    int64_t record = state.records - polled.records;  // of the batch's first row, if none before it is bad
    const bool exact = polled.records == polled.batch.rows();
    polled.batch.for_each_row([&](int64_t row) {
      ++record;
      if (polled.batch.column(column).is_null(row)) return;
      if (columnar::value_to_string(polled.batch.column(column), row) != choice.value) return;
      out.records.emplace_back(scan.table.name + "/" + state.shard + (exact ? " record " : " near record ") +
                                   std::to_string(record),
                               columnar::row_to_string(polled.batch, row));
    });
  }
  return Status();
}

std::optional<std::string> first_key(const plan::Plan& plan) {
  std::optional<std::string> grouped;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto name = [&](const std::vector<size_t>& keys) -> std::optional<std::string> {
      if (keys.empty()) return std::nullopt;
      const plan::Input& input = node->inputs[0];
      return (*input.node->schema(input.port))[keys[0]].name;
    };
    if (const auto* dedup = std::get_if<plan::Deduplicate>(&node->detail)) return name(dedup->keys);
    if (grouped) continue;
    if (const auto* window = std::get_if<plan::WindowAggregate>(&node->detail)) grouped = name(window->keys);
    if (const auto* group = std::get_if<plan::GroupAggregate>(&node->detail)) grouped = name(group->keys);
  }
  return grouped;
}

}  // namespace

Result<RowChoice> parse_row(const plan::Plan& plan, const std::string& text) {
  const size_t equals = text.find('=');
  RowChoice choice;
  if (equals != std::string::npos && equals > 0) {
    choice = {text.substr(0, equals), text.substr(equals + 1)};
  } else if (const auto key = first_key(plan)) {
    choice = {*key, text};
  } else {
    return Status(ErrorCode::kBadUsage, "the job has no key that '" + text + "' could be a value of")
        .at("--row")
        .hint("name the column: --row column=value");
  }
  std::vector<std::string> columns;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    for (const columnar::SchemaPtr& schema : {node->output, scan == nullptr ? nullptr : scan->table.schema}) {
      if (schema == nullptr) continue;
      for (const columnar::Field& field : schema->fields()) columns.push_back(field.name);
    }
  }
  if (std::find(columns.begin(), columns.end(), choice.column) != columns.end()) return choice;
  const auto near = nearest(choice.column, columns);
  return Status(ErrorCode::kUnknownColumn, "no operator of the job has a column '" + choice.column + "'")
      .at("--row")
      .hint(near ? "did you mean '" + *near + "'?"
                 : "`strandline explain` lists the columns of each operator");
}

Result<Followed> follow(const plan::Plan& plan, const RowChoice& row, const connect::Registry& registry,
                        const std::string& scratch_dir, const Machine& machine, env::Env env) {
  Eyes eyes;
  STRAND_TRY(const plan::Plan watched, watched_plan(plan, row, eyes));
  connect::Registry own = registry;
  connect::Connector connector;
  connector.sink = [&eyes](const connect::TableContext& table) -> Result<std::unique_ptr<flow::Sink>> {
    Eye* eye = eyes[static_cast<size_t>(std::stoul(table.table))].get();
    return make_hand_over_sink([eye](const flow::Batch& rows) {
      eye->look(rows);
      return Status();
    });
  };
  own.add(kEyeConnector, std::move(connector));
  if (!watched.sinks.empty()) STRAND_OK(run_to_end(watched, own, scratch_dir, machine, env));
  Followed out;
  const runtime::Tables tables(registry, {plan.job, "UTC", env});
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto* scan = std::get_if<plan::Scan>(&node->detail);
    if (scan == nullptr || !has_column(scan->table.schema, row.column)) continue;
    STRAND_OK(find_records(*scan, row, tables, *env.clock, out));
  }
  for (const auto& eye : eyes) out.sightings[eye->of] = std::move(eye->seen);
  return out;
}

}  // namespace strand::engine
