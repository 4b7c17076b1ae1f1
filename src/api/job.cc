#include "strandline/job.h"

#include <functional>

#include "api/arguments.h"
#include "api/build.h"
#include "api/expression.h"
#include "api/job_state.h"
#include "base/text.h"
#include "expr/compile.h"

namespace strandline {

namespace plan = strand::plan;
namespace columnar = strand::columnar;
using strand::ErrorCode;
using strand::Port;
using strand::Status;

namespace detail {

std::shared_ptr<StreamNode> JobState::add(plan::Detail detail, std::vector<plan::Input> inputs,
                                          columnar::SchemaPtr output) {
  auto node = std::make_shared<plan::Node>();
  std::string kind = plan::kind_name(detail);
  for (char& c : kind) c = c == ' ' ? '-' : c;
  node->id = kind + "-" + std::to_string(++ordinals[kind]);
  node->label = node->id;
  node->detail = std::move(detail);
  node->inputs = std::move(inputs);
  node->output = std::move(output);
  return std::make_shared<StreamNode>(StreamNode{std::move(node)});
}

}  // namespace detail

using detail::JobState;
using detail::StreamNode;
using strand::api::build;
using strand::api::find_column;

namespace {

columnar::SchemaPtr schema_of(const std::shared_ptr<StreamNode>& node, int port) {
  return strand::api::schema_of({nullptr, node, port});
}

/// Binds each expression; the names of the columns come along.
strand::Result<std::pair<std::vector<strand::expr::ExprPtr>, columnar::SchemaPtr>> bind_all(
    const std::vector<Expression>& expressions, const columnar::Schema& schema) {
  std::vector<strand::expr::ExprPtr> bound;
  std::vector<columnar::Field> fields;
  for (const Expression& expression : expressions) {
    STRAND_TRY(auto one, strand::api::bind(expression, schema));
    std::string name = strand::api::name_of(expression);
    if (name.empty()) name = "c" + std::to_string(fields.size());
    fields.push_back({std::move(name), one->type});
    bound.push_back(std::move(one));
  }
  return std::pair{std::move(bound), std::make_shared<const columnar::Schema>(std::move(fields))};
}

strand::Result<plan::TableSpec> table_spec(const Table& table) {
  std::vector<columnar::Field> fields;
  for (const Column& column : table.columns) {
    STRAND_TRY(auto type, strand::api::parse_type(column.type));
    fields.push_back({column.name, std::move(type)});
  }
  return plan::TableSpec{table.name,
                         std::make_shared<const columnar::Schema>(std::move(fields)),
                         table.options,
                         table.primary_key,
                         {},
                         table.name};
}

strand::expr::Aggregate::Kind kind_of(Aggregate::Kind kind) {
  using To = strand::expr::Aggregate::Kind;
  switch (kind) {
    case Aggregate::Kind::kCountAll:
      return To::kCountStar;
    case Aggregate::Kind::kCount:
      return To::kCount;
    case Aggregate::Kind::kSum:
      return To::kSum;
    case Aggregate::Kind::kMin:
      return To::kMin;
    case Aggregate::Kind::kMax:
      return To::kMax;
    case Aggregate::Kind::kAvg:
      return To::kAvg;
  }
  return To::kCountStar;
}

strand::Result<std::vector<strand::expr::Aggregate>> bind_aggregates(const std::vector<Aggregate>& aggregates,
                                                                     const columnar::Schema& schema) {
  std::vector<strand::expr::Aggregate> out;
  for (const Aggregate& aggregate : aggregates) {
    strand::expr::Aggregate bound;
    bound.kind = kind_of(aggregate.kind);
    bound.name = aggregate.name;
    if (aggregate.kind != Aggregate::Kind::kCountAll) {
      STRAND_TRY(bound.column, find_column(schema, aggregate.column));
      bound.input = schema[bound.column].type;
    }
    STRAND_TRY(bound.type, strand::expr::aggregate_type(bound.kind, bound.input));
    out.push_back(std::move(bound));
  }
  return out;
}

strand::Result<std::vector<size_t>> find_keys(const std::vector<std::string>& keys,
                                              const columnar::Schema& schema) {
  std::vector<size_t> out;
  for (const std::string& key : keys) {
    STRAND_TRY(const size_t index, find_column(schema, key));
    out.push_back(index);
  }
  return out;
}

strand::Result<std::optional<plan::Retention>> bind_retention(const std::optional<Retention>& retention,
                                                              const columnar::Schema& schema) {
  if (!retention) return std::optional<plan::Retention>();
  STRAND_OK(strand::api::check_arguments(*retention));
  STRAND_TRY(const size_t column, find_column(schema, retention->column));
  return std::optional<plan::Retention>(plan::Retention{column, {retention->after.count()}});
}

}  // namespace

Job::Job(std::string name) : state_(std::make_shared<JobState>()) { state_->name = std::move(name); }

Job& Job::set(const std::string& key, std::string value) {
  state_->settings[key] = {std::move(value), "job"};
  return *this;
}

std::string Job::error() const { return state_->error.ok() ? std::string() : state_->error.to_string(); }

Stream Job::source(Table table, std::vector<Expression> columns, std::optional<EventTime> event_time) {
  auto empty = state_->add(plan::Union{}, {}, std::make_shared<const columnar::Schema>());
  auto node = build(*state_, empty, [&]() -> strand::Result<std::shared_ptr<StreamNode>> {
    plan::Scan scan;
    STRAND_TRY(scan.table, table_spec(table));
    for (size_t i = 0; i < scan.table.schema->size(); ++i) scan.read.push_back(i);
    STRAND_TRY(auto bound, bind_all(columns, *scan.table.schema));
    scan.project = std::move(bound.first);
    const columnar::SchemaPtr output = bound.second;
    std::optional<size_t> rowtime;
    if (event_time) {
      STRAND_OK(strand::api::check_arguments(*event_time).at(table.name));
      STRAND_TRY(rowtime, find_column(*output, event_time->column));
      plan::WatermarkSpec watermark;
      watermark.time_column = *rowtime;
      watermark.trail = strand::Duration{event_time->bound.count() + 1};
      if (event_time->idle_timeout)
        watermark.idle_timeout = strand::Duration{event_time->idle_timeout->count()};
      scan.watermark = std::move(watermark);
    }
    auto made = state_->add(std::move(scan), {}, output);
    made->node->label = table.name;
    made->node->rowtime = rowtime;
    made->node->side_outputs[Port::kBad] = std::make_shared<const columnar::Schema>(
        std::vector<columnar::Field>{{"shard", columnar::make_type(columnar::TypeKind::kString)},
                                     {"shard_position", columnar::make_type(columnar::TypeKind::kBigInt)},
                                     {"payload", columnar::make_type(columnar::TypeKind::kBytes)},
                                     {"reason", columnar::make_type(columnar::TypeKind::kString)},
                                     {"read_at", columnar::timestamp_type(3, true)}});
    return made;
  });
  return Stream(state_, std::move(node), 0);
}

namespace {

/// Whether totals come to a filter, which then must be told what they were before: a table with a key loses
/// the rows that it lets through no more.
bool ask_for_old_rows(const plan::NodePtr& node) {
  const plan::NodePtr* at = &node;
  while (std::holds_alternative<plan::Project>((*at)->detail) ||
         std::holds_alternative<plan::Filter>((*at)->detail)) {
    if ((*at)->inputs[0].port != Port::kMain) return false;
    at = &(*at)->inputs[0].node;
  }
  auto* totals = std::get_if<plan::GroupAggregate>(&std::const_pointer_cast<plan::Node>(*at)->detail);
  if (totals != nullptr) totals->update_before = true;
  return totals != nullptr;
}

}  // namespace

Stream Stream::filter(Expression condition) const {
  auto node = build(*job_, node_, [&]() -> strand::Result<std::shared_ptr<StreamNode>> {
    const auto schema = schema_of(node_, port_);
    STRAND_TRY(auto bound, strand::api::bind(condition, *schema));
    if (bound->type->kind != columnar::TypeKind::kBoolean) {
      return Status(ErrorCode::kTypeMismatch,
                    "a filter needs a BOOLEAN, found " + columnar::to_string(*bound->type));
    }
    const bool changes = port_ == 0 && ask_for_old_rows(node_->node);
    auto made =
        job_->add(plan::Filter{std::move(bound), changes}, {{node_->node, static_cast<Port>(port_)}}, schema);
    made->node->rowtime = port_ == 0 ? node_->node->rowtime : std::nullopt;
    return made;
  });
  return Stream(job_, std::move(node), 0);
}

Stream Stream::select(std::vector<Expression> columns) const {
  auto node = build(*job_, node_, [&]() -> strand::Result<std::shared_ptr<StreamNode>> {
    STRAND_TRY(auto bound, bind_all(columns, *schema_of(node_, port_)));
    std::optional<size_t> rowtime;
    for (size_t i = 0; i < bound.first.size(); ++i) {
      const strand::expr::Expr& e = *bound.first[i];
      const bool passes =
          e.kind == strand::expr::Expr::Kind::kColumn && port_ == 0 && node_->node->rowtime == e.column;
      if (passes) rowtime = i;
    }
    auto made = job_->add(plan::Project{std::move(bound.first)}, {{node_->node, static_cast<Port>(port_)}},
                          bound.second);
    made->node->rowtime = rowtime;
    return made;
  });
  return Stream(job_, std::move(node), 0);
}

Stream Stream::union_all(const Stream& other) const {
  auto node = build(*job_, node_, [&]() -> strand::Result<std::shared_ptr<StreamNode>> {
    const auto schema = schema_of(node_, port_);
    const auto right = schema_of(other.node_, other.port_);
    if (schema->size() != right->size()) {
      return Status(ErrorCode::kTypeMismatch, "a union needs as many columns on both sides, found " +
                                                  std::to_string(schema->size()) + " and " +
                                                  std::to_string(right->size()));
    }
    for (size_t i = 0; i < schema->size(); ++i) {
      if ((*schema)[i].type->kind == (*right)[i].type->kind) continue;
      return Status(ErrorCode::kTypeMismatch, "column " + std::to_string(i + 1) + " of a union is " +
                                                  columnar::to_string(*(*schema)[i].type) + " and " +
                                                  columnar::to_string(*(*right)[i].type));
    }
    return job_->add(
        plan::Union{},
        {{node_->node, static_cast<Port>(port_)}, {other.node_->node, static_cast<Port>(other.port_)}},
        schema);
  });
  return Stream(job_, std::move(node), 0);
}

KeyedStream Stream::key_by(std::vector<std::string> columns) const {
  return KeyedStream(*this, std::move(columns));
}

Stream Stream::uid(std::string id) const {
  node_->node->id = id;
  node_->node->label = std::move(id);
  return *this;
}

static Stream side(const Stream& stream, const std::function<Stream(Port)>& make, JobState& job, bool present,
                   const char* what, Port port) {
  if (present) return make(port);
  job.fail(Status(ErrorCode::kNoLateRows, std::string("the stream has no ") + what + " rows"));
  return stream;
}

Stream Stream::bad() const {
  return side(
      *this, [&](Port p) { return Stream(job_, node_, static_cast<int>(p)); }, *job_,
      node_->node->side_outputs.count(Port::kBad) != 0, "bad", Port::kBad);
}
Stream Stream::duplicates() const {
  return side(
      *this, [&](Port p) { return Stream(job_, node_, static_cast<int>(p)); }, *job_,
      node_->node->side_outputs.count(Port::kDuplicate) != 0, "duplicate", Port::kDuplicate);
}
Stream Stream::late() const {
  return side(
      *this, [&](Port p) { return Stream(job_, node_, static_cast<int>(p)); }, *job_,
      node_->node->side_outputs.count(Port::kLate) != 0, "late", Port::kLate);
}

void Stream::write(Table table, std::string writer) const {
  if (!job_->error.ok()) return;
  const auto made = [&]() -> Status {
    const auto schema = schema_of(node_, port_);
    plan::SinkWrite write;
    STRAND_TRY(write.table, table_spec(table));
    for (const auto& field : schema->fields()) {
      STRAND_TRY(const size_t column, find_column(*write.table.schema, field.name));
      write.columns.push_back((*write.table.schema)[column].name);
    }
    STRAND_TRY(auto keys, find_keys(table.primary_key, *schema));
    write.writer = writer;
    std::function<std::pair<bool, bool>(const plan::NodePtr&, Port)> origin = [&](const plan::NodePtr& n,
                                                                                  Port port) {
      if (std::holds_alternative<plan::WindowAggregate>(n->detail)) {
        return std::pair{port == Port::kMain, port == Port::kEarly};
      }
      if (std::holds_alternative<plan::Function>(n->detail)) return std::pair{false, false};
      std::pair<bool, bool> all{!n->inputs.empty(), false};
      for (const auto& input : n->inputs) {
        const auto one = origin(input.node, input.port);
        all = {all.first && one.first, all.second || one.second};
      }
      if (plan::makes_changes(n->detail)) all = {false, false};
      return all;
    };
    std::tie(write.closed_rows, write.provisional) = origin(node_->node, static_cast<Port>(port_));
    auto sink =
        job_->add(std::move(write), {{node_->node, static_cast<Port>(port_), std::move(keys)}}, nullptr);
    sink->node->id = table.name + "." + writer;
    sink->node->label = sink->node->id;
    job_->sinks.push_back(sink->node);
    return Status();
  }();
  if (!made.ok()) job_->fail(made);
}

void Stream::take(std::string name, TakeBatch take) const {
  if (!job_->error.ok()) return;
  if (job_->takers.contains(name)) {
    return job_->fail(Status(ErrorCode::kDuplicateName, "two streams are taken as '" + name + "'")
                          .hint("give each a name of its own"));
  }
  plan::SinkWrite write;
  write.table.name = name;
  write.table.schema = schema_of(node_, port_);
  write.table.options = {{"connector", strand::api::kTakeConnector}};
  write.writer = "take";
  for (const auto& field : write.table.schema->fields()) write.columns.push_back(field.name);
  auto sink = job_->add(std::move(write), {{node_->node, static_cast<Port>(port_)}}, nullptr);
  sink->node->id = name + ".take";
  sink->node->label = name;
  job_->sinks.push_back(sink->node);
  job_->takers[std::move(name)] = std::move(take);
}

Stream KeyedStream::deduplicate(std::optional<Retention> retention) const {
  const auto& job = stream_.job_;
  auto node = build(*job, stream_.node_, [&]() -> strand::Result<std::shared_ptr<StreamNode>> {
    const auto schema = schema_of(stream_.node_, stream_.port_);
    plan::Deduplicate dedup;
    STRAND_TRY(dedup.keys, find_keys(keys_, *schema));
    STRAND_TRY(dedup.retention, bind_retention(retention, *schema));
    const auto keys = dedup.keys;
    auto made =
        job->add(std::move(dedup), {{stream_.node_->node, static_cast<Port>(stream_.port_), keys}}, schema);
    made->node->side_outputs[Port::kDuplicate] = schema;
    made->node->side_outputs[Port::kLate] = schema;
    made->node->rowtime = stream_.node_->node->rowtime;
    return made;
  });
  return Stream(job, std::move(node), 0);
}

WindowedStream KeyedStream::window(Tumbling window) const { return WindowedStream(*this, window); }

Stream KeyedStream::total(std::vector<Aggregate> aggregates, std::optional<Retention> retention) const {
  const auto& job = stream_.job_;
  auto node = build(*job, stream_.node_, [&]() -> strand::Result<std::shared_ptr<StreamNode>> {
    const auto schema = schema_of(stream_.node_, stream_.port_);
    plan::GroupAggregate group;
    STRAND_TRY(group.keys, find_keys(keys_, *schema));
    STRAND_TRY(group.aggregates, bind_aggregates(aggregates, *schema));
    STRAND_TRY(group.retention, bind_retention(retention, *schema));
    std::vector<columnar::Field> fields;
    for (const size_t key : group.keys) fields.push_back((*schema)[key]);
    for (const auto& aggregate : group.aggregates) fields.push_back({aggregate.name, aggregate.type});
    const auto keys = group.keys;
    return job->add(std::move(group), {{stream_.node_->node, static_cast<Port>(stream_.port_), keys}},
                    std::make_shared<const columnar::Schema>(std::move(fields)));
  });
  return Stream(job, std::move(node), 0);
}

WindowedStream WindowedStream::pre_aggregate(Millis at_most) const {
  WindowedStream out = *this;
  out.pre_aggregate_ = at_most;
  return out;
}

WindowedStream WindowedStream::early_firing(Millis delay) const {
  WindowedStream out = *this;
  out.early_ = delay;
  return out;
}

WindowedStream::Result WindowedStream::aggregate(std::vector<Aggregate> aggregates) const {
  const Stream& stream = keyed_.stream_;
  const auto& job = stream.job_;
  auto node = build(*job, stream.node_, [&]() -> strand::Result<std::shared_ptr<StreamNode>> {
    const auto schema = schema_of(stream.node_, stream.port_);
    if (!stream.node_->node->rowtime || stream.port_ != 0) {
      return Status(ErrorCode::kBadWindow, "a window needs a stream with event time")
          .hint("keep the event-time column in select");
    }
    if (window_.size.count() <= 0) return Status(ErrorCode::kBadWindow, "a window's size must be above 0");
    if (early_ && early_->count() <= 0)
      return Status(ErrorCode::kBadWindow, "early_firing expects a time above 0 ms");
    if (pre_aggregate_ && pre_aggregate_->count() < 0)
      return Status(ErrorCode::kBadWindow, "pre_aggregate expects a time from 0 ms on");
    plan::WindowAggregate window;
    STRAND_TRY(window.keys, find_keys(keyed_.keys_, *schema));
    window.time_column = *stream.node_->node->rowtime;
    window.size = {window_.size.count()};
    window.offset = {window_.offset.count()};
    STRAND_TRY(window.aggregates, bind_aggregates(aggregates, *schema));
    if (early_) window.early_delay = strand::Duration{early_->count()};
    if (pre_aggregate_) window.pre_aggregate = strand::Duration{pre_aggregate_->count()};
    const auto local = columnar::timestamp_type(3, false, false);
    const auto instant = columnar::timestamp_type(3, true, false);
    std::vector<columnar::Field> fields;
    for (const size_t key : window.keys) fields.push_back((*schema)[key]);
    const size_t rowtime = fields.size() + 2;
    fields.push_back({"window_start", local});
    fields.push_back({"window_end", local});
    fields.push_back({"window_time", (*schema)[window.time_column].type});
    for (const auto& aggregate : window.aggregates) fields.push_back({aggregate.name, aggregate.type});
    std::vector<columnar::Field> late = schema->fields();
    late.push_back({"window_start", local});
    late.push_back({"window_end", local});
    late.push_back({"judge", instant});
    late.push_back({"fully_late", columnar::make_type(columnar::TypeKind::kBoolean, false)});
    const auto keys = window.keys;
    auto made = job->add(std::move(window), {{stream.node_->node, Port::kMain, keys}},
                         std::make_shared<const columnar::Schema>(std::move(fields)));
    made->node->side_outputs[Port::kLate] = std::make_shared<const columnar::Schema>(std::move(late));
    made->node->side_outputs[Port::kEarly] = made->node->output;
    made->node->rowtime = rowtime;
    return made;
  });
  return {Stream(job, node, 0), Stream(job, node, static_cast<int>(Port::kLate)),
          Stream(job, node, static_cast<int>(Port::kEarly))};
}

}  // namespace strandline

namespace strand::api {

columnar::SchemaPtr schema_of(const strandline::detail::Handle& stream) {
  const plan::Node& node = *stream.node->node;
  if (stream.port == 0) return node.output;
  const auto side = node.side_outputs.find(static_cast<Port>(stream.port));
  return side == node.side_outputs.end() ? nullptr : side->second;
}

Result<size_t> find_column(const columnar::Schema& schema, const std::string& name) {
  if (const auto index = schema.find(name)) return *index;
  return Status(ErrorCode::kUnknownColumn, "the stream has no column '" + name + "'");
}

const std::map<std::string, strandline::TakeBatch>& takers_of(const strandline::Job& job) {
  return job.state()->takers;
}

namespace {

/// An operator for people who have not named it, or have named two alike.
std::string described(const plan::Node& node) {
  if (const auto* scan = std::get_if<plan::Scan>(&node.detail))
    return "the source '" + scan->table.name + "'";
  if (const auto* write = std::get_if<plan::SinkWrite>(&node.detail))
    return "writer '" + write->writer + "' of table '" + write->table.name + "'";
  const auto* function = std::get_if<plan::Function>(&node.detail);
  std::string text = "'" + (function != nullptr ? function->kind : plan::kind_name(node.detail)) + "'";
  for (size_t i = 0; i < node.inputs.size(); ++i)
    text += (i == 0 ? " behind '" : " and '") + node.inputs[i].node->id + "'";
  return text;
}

/// State, files and savepoints know an operator by its id.
Status check_ids(const plan::Plan& plan) {
  std::map<std::string, const plan::Node*> known;
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto [at, fresh] = known.emplace(node->id, node.get());
    if (fresh) continue;
    const bool writer = std::holds_alternative<plan::SinkWrite>(node->detail);
    return Status(ErrorCode::kDuplicateName, "two operators have the id '" + node->id +
                                                 "': " + described(*at->second) + ", and " + described(*node))
        .hint(
            writer
                ? "give each writer of a table a name of its own"
                : "give each a uid of its own; without one the id is its kind and number, as in 'process-1'");
  }
  return Status();
}

}  // namespace

Result<plan::Plan> plan_of(const strandline::Job& job) {
  const strandline::detail::JobState& state = *job.state();
  if (!state.error.ok()) return state.error;
  if (state.sinks.empty())
    return Status(ErrorCode::kNothingToRun, "the job writes nothing").hint("call write or take on a stream");
  plan::Plan plan;
  plan.job = state.name;
  plan.sinks = state.sinks;
  plan.settings = state.settings;
  STRAND_OK(check_ids(plan));
  return plan;
}

}  // namespace strand::api
