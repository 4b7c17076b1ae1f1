// Typed streams: from the templates of the API to plan nodes.
#include <stdexcept>

#include "api/arguments.h"
#include "api/batch.h"
#include "api/elements.h"
#include "api/flows.h"
#include "api/function_host.h"
#include "api/job_state.h"
#include "base/text.h"
#include "expr/compile.h"

namespace strandline::detail {

namespace api = strand::api;
namespace columnar = strand::columnar;
namespace plan = strand::plan;
using strand::ErrorCode;
using strand::Port;
using strand::Result;
using strand::Status;
using NodeResult = Result<std::shared_ptr<StreamNode>>;

namespace {

plan::Input input_of(const Handle& stream) { return {stream.node->node, static_cast<Port>(stream.port)}; }
plan::Input keyed_input(const Handle& stream, const RowType& type, size_t number) {
  plan::Input input = input_of(stream);
  input.hash_keys = {api::group_column(type)};
  input.groups = true;
  input.number = number;
  return input;
}

/// A handle to what `make` adds; the first input where it fails, which the error then names.
template <class Make>
Handle add(const Handle& fallback, Make&& make) {
  const auto placed = [&]() -> NodeResult {
    NodeResult made = make();
    if (made.ok() || !made.status().where().empty()) return made;
    return std::move(made).status().at("behind '" + fallback.node->node->id + "'");
  };
  return {fallback.job, api::build(*fallback.job, fallback.node, placed), 0};
}

bool is_whole_number(columnar::TypeKind kind) {
  return kind >= columnar::TypeKind::kTinyInt && kind <= columnar::TypeKind::kBigInt;
}

/// The column as the field's type: as it is, or widened.
Result<strand::expr::ExprPtr> column_as(const columnar::Schema& schema, size_t column,
                                        const columnar::Field& field) {
  using columnar::TypeKind;
  const columnar::TypePtr& from = schema[column].type;
  const columnar::TypePtr& to = field.type;
  auto value = strand::expr::column(column, from);
  const bool instant = from->kind == TypeKind::kTimestampLtz && to->kind == TypeKind::kTimestampLtz;
  if (from->kind == to->kind && (!instant || from->precision <= 3)) return value;
  const bool widens = (is_whole_number(from->kind) && is_whole_number(to->kind) && from->kind < to->kind) ||
                      (from->kind == TypeKind::kFloat && to->kind == TypeKind::kDouble) || instant;
  if (widens) return strand::expr::resolve_cast(std::move(value), columnar::with_nullable(to, true));
  return Status(ErrorCode::kTypeMismatch, "column '" + field.name + "' is " + columnar::to_string(*from) +
                                              ", the field wants " + columnar::to_string(*to))
      .hint("cast it in select before as<>, or change the field");
}

Result<size_t> column_for(const columnar::Schema& schema, const std::string& name) {
  if (const auto found = schema.find(name)) return *found;
  std::vector<std::string> names;
  for (const auto& field : schema.fields()) names.push_back(field.name);
  const auto near = strand::nearest(name, names);
  return Status(ErrorCode::kUnknownColumn,
                "an element needs a column '" + name + "', and the stream has none")
      .hint(near ? "did you mean '" + *near + "'?" : "select it before as<>");
}

}  // namespace

Handle elements_of(const Handle& rows, const RowType& type) {
  return add(rows, [&]() -> NodeResult {
    const columnar::SchemaPtr schema = api::schema_of(rows);
    STRAND_TRY(const auto fields, api::fields_of(type));
    plan::Project project;
    std::vector<columnar::Field> output;
    for (const columnar::Field& field : fields) {
      STRAND_TRY(const size_t column, column_for(*schema, field.name));
      STRAND_TRY(auto value, column_as(*schema, column, field));
      output.push_back({field.name, value->type});
      project.expressions.push_back(std::move(value));
    }
    const columnar::Field time{api::kTimeColumn, columnar::timestamp_type(3, true)};
    const auto rowtime = rows.port == 0 ? rows.node->node->rowtime : std::nullopt;
    if (rowtime) {
      STRAND_TRY(auto value, column_as(*schema, *rowtime, {(*schema)[*rowtime].name, time.type}));
      project.expressions.push_back(std::move(value));
    } else {
      STRAND_TRY(auto none,
                 strand::expr::resolve_cast(
                     strand::expr::literal(std::monostate{}, columnar::make_type(columnar::TypeKind::kNull)),
                     time.type));
      project.expressions.push_back(std::move(none));
    }
    output.push_back(time);
    auto made = rows.job->add(std::move(project), {input_of(rows)},
                              std::make_shared<const columnar::Schema>(std::move(output)));
    if (rowtime) made->node->rowtime = api::time_column(type);
    return made;
  });
}

Handle rows_of(const Handle& elements, const RowType& type, const std::string& time_column) {
  return add(elements, [&]() -> NodeResult {
    const columnar::SchemaPtr schema = api::schema_of(elements);
    plan::Project project;
    std::vector<columnar::Field> output;
    for (size_t i = 0; i < type.columns.size(); ++i) {
      project.expressions.push_back(strand::expr::column(i, (*schema)[i].type));
      output.push_back((*schema)[i]);
    }
    if (!time_column.empty()) {
      const size_t time = api::time_column(type);
      project.expressions.push_back(strand::expr::column(time, (*schema)[time].type));
      output.push_back({time_column, (*schema)[time].type});
    }
    auto made = elements.job->add(std::move(project), {input_of(elements)},
                                  std::make_shared<const columnar::Schema>(std::move(output)));
    if (!time_column.empty()) made->node->rowtime = api::time_column(type);
    return made;
  });
}

Handle add_filter(const Handle& in, const RowType& type, std::function<bool(const void*)> condition) {
  return add(in, [&]() -> NodeResult {
    plan::Function function;
    function.kind = "filter function";
    function.make = [&type, condition](const plan::FunctionOptions&) -> Result<api::OperatorPtr> {
      return api::make_filter_flow(type, condition);
    };
    auto made = in.job->add(std::move(function), {input_of(in)}, api::schema_of(in));
    made->node->rowtime = api::time_column(type);
    return made;
  });
}

Handle add_union(const RowType& type, const std::vector<Handle>& inputs) {
  return add(inputs[0], [&]() -> NodeResult {
    std::vector<plan::Input> edges;
    for (const Handle& input : inputs) edges.push_back(input_of(input));
    auto made = inputs[0].job->add(plan::Union{}, std::move(edges), api::element_schema(type));
    made->node->rowtime = api::time_column(type);
    return made;
  });
}

Handle add_watermarks(const Handle& in, const RowType& type, WatermarkSpec spec) {
  return add(in, [&]() -> NodeResult {
    STRAND_OK(api::check_arguments(spec));
    plan::Function function;
    function.kind = "watermarks";
    function.make = [&type, spec](const plan::FunctionOptions& options) -> Result<api::OperatorPtr> {
      return api::make_assign_flow(type, spec, options.tick);
    };
    auto made = in.job->add(std::move(function), {input_of(in)}, api::element_schema(type));
    made->node->rowtime = api::time_column(type);
    return made;
  });
}

Handle add_key_by(const Handle& in, const RowType& type, KeyOf key_of) {
  return add(in, [&]() -> NodeResult {
    plan::Function function;
    function.kind = "key by";
    function.make = [&type, key_of](const plan::FunctionOptions&) -> Result<api::OperatorPtr> {
      return api::make_key_by_flow(type, key_of);
    };
    auto made = in.job->add(std::move(function), {input_of(in)}, api::keyed_schema(type));
    made->node->rowtime = api::time_column(type);
    return made;
  });
}

namespace {

/// What a start would refuse of the states of a function.
Status check_states(const StateOwner& owner, bool keyed) {
  std::map<std::string, int> names;
  for (const auto& state : owner.states()) {
    if (++names[state->name] > 1) {
      return Status(ErrorCode::kDuplicateName,
                    "a function has two states with the name '" + state->name + "'")
          .hint("give each a name of its own");
    }
    if (state->ttl) STRAND_OK(api::check_arguments(*state->ttl, state->name));
    if (!keyed && state->kind < StateKind::kOperatorList) {
      return Status(ErrorCode::kBadUsage,
                    "state '" + state->name + "' belongs to a key, and the stream has none")
          .hint("call key_by before, or use an OperatorListState");
    }
  }
  return Status();
}

}  // namespace

Handle add_function(FunctionSpec spec, const std::vector<Handle>& inputs) {
  return add(inputs[0], [&]() -> NodeResult {
    const auto probe = spec.make();
    STRAND_OK(check_states(probe->owner(), spec.keyed));
    auto sides = std::make_shared<api::SideOutputs>();
    plan::Function function;
    function.kind = spec.kind;
    function.keyed = spec.keyed;
    const bool free = spec.kind == "map" || spec.kind == "flat map";
    function.judges_lateness = !free;
    function.state = api::states_text(probe->owner());
    for (const auto& state : probe->owner().states()) {
      function.facts.emplace_back(
          "state",
          state->name + ": " + function.state["state " + state->name] +
              (state->ttl ? ", " + std::to_string(state->ttl->life.count()) + " ms of wall clock" : ""));
    }
    function.make = [spec, sides](const plan::FunctionOptions& options) -> Result<api::OperatorPtr> {
      return api::make_function_flow(spec, sides, options);
    };
    std::vector<plan::Input> edges;
    for (size_t i = 0; i < inputs.size(); ++i) {
      const bool broadcast = spec.broadcast && i == 1;
      plan::Input edge =
          spec.keyed && !broadcast ? keyed_input(inputs[i], *spec.inputs[i], i) : input_of(inputs[i]);
      edge.number = i;
      edge.broadcast = broadcast;
      edges.push_back(std::move(edge));
    }
    auto made = inputs[0].job->add(std::move(function), std::move(edges), api::element_schema(*spec.output));
    made->node->rowtime = api::time_column(*spec.output);
    made->sides = std::move(sides);
    return made;
  });
}

Handle side_output(const Handle& function, const std::string& tag, const RowType& type) {
  JobState& job = *function.job;
  api::SideOutputs* sides = function.node->sides.get();
  if (sides == nullptr) {
    job.fail(
        Status(ErrorCode::kNoLateRows, "side output '" + tag + "' is asked of a stream that is no function's")
            .hint("call side_output on what process(…) returns"));
    return function;
  }
  const auto known = sides->by_tag.find(tag);
  if (known != sides->by_tag.end() && known->second.type != &type) {
    job.fail(Status(ErrorCode::kTypeMismatch, "side output '" + tag + "' is read as two types"));
    return function;
  }
  if (known == sides->by_tag.end()) {
    if (sides->by_tag.size() == plan::kSidePorts) {
      job.fail(Status(ErrorCode::kLimitExceeded,
                      "a function has more than " + std::to_string(plan::kSidePorts) + " side outputs"));
      return function;
    }
    const Port port = plan::side_port(sides->by_tag.size());
    sides->by_tag[tag] = {static_cast<size_t>(port), &type};
    function.node->node->side_outputs[port] = api::element_schema(type);
  }
  return {function.job, function.node, static_cast<int>(sides->by_tag.at(tag).port)};
}

Handle late_output(const Handle& in, size_t input, const RowType& type) {
  return add(in, [&]() -> NodeResult {
    const Port port = input == 0 ? Port::kLate : Port::kLateRight;
    if (!in.node->node->side_outputs.contains(port))
      return Status(ErrorCode::kNoLateRows, "the stream has no late elements");
    const Handle late{in.job, in.node, static_cast<int>(port)};
    return rows_of(late, type, api::kTimeColumn).node;
  });
}

Handle add_window(WindowSpec spec, const std::vector<Handle>& inputs) {
  return add(inputs[0], [&]() -> NodeResult {
    STRAND_TRY(const auto checked, api::make_window_flow(spec, {}));
    const auto probe = spec.make();
    if (probe->owner() != nullptr) STRAND_OK(check_states(*probe->owner(), true));
    plan::Function function;
    function.kind = spec.kind;
    function.keyed = true;
    function.judges_lateness = true;
    function.waits_for_time = spec.assigner.event_time;
    if (probe->owner() != nullptr) function.state = api::states_text(*probe->owner());
    function.state["contents"] =
        std::string(probe->folds() && !spec.evictor ? "fold of " : "elements of ") + probe->stored_type();
    function.state["window"] = std::string(spec.assigner.event_time ? "event" : "processing") +
                               " time, kind " + std::to_string(static_cast<int>(spec.assigner.kind));
    function.facts.emplace_back("window", function.state["window"]);
    function.facts.emplace_back("state", function.state["contents"] + "; floor of each key group");
    function.make = [spec](const plan::FunctionOptions& options) {
      return api::make_window_flow(spec, options);
    };
    std::vector<plan::Input> edges;
    for (size_t i = 0; i < inputs.size(); ++i) edges.push_back(keyed_input(inputs[i], *spec.inputs[i], i));
    auto made = inputs[0].job->add(std::move(function), std::move(edges), api::element_schema(*spec.output));
    made->node->rowtime = api::time_column(*spec.output);
    for (size_t i = 0; i < inputs.size(); ++i) {
      made->node->side_outputs[i == 0 ? Port::kLate : Port::kLateRight] = api::keyed_schema(*spec.inputs[i]);
    }
    return made;
  });
}

IntervalJoined add_interval_join(IntervalJoinSpec spec, const Handle& left, const Handle& right) {
  const Handle join = add(left, [&]() -> NodeResult {
    STRAND_OK(api::check_arguments(spec));
    plan::IntervalJoin node;
    node.stream_rules = true;
    node.lower = strand::Duration{spec.lower};
    node.upper = strand::Duration{spec.upper};
    std::vector<plan::Input> edges;
    std::vector<columnar::Field> fields;
    size_t number = 0;
    for (const auto& [stream, type] : {std::pair{&left, spec.left}, std::pair{&right, spec.right}}) {
      node.on.keys[number] = {api::key_column(*type)};
      node.time_columns[number] = api::time_column(*type);
      plan::Input edge = input_of(*stream);
      edge.hash_keys = node.on.keys[number];
      edge.number = number++;
      edges.push_back(std::move(edge));
      const columnar::SchemaPtr side = api::keyed_schema(*type);
      fields.insert(fields.end(), side->fields().begin(), side->fields().end());
    }
    auto made = left.job->add(std::move(node), std::move(edges),
                              std::make_shared<const columnar::Schema>(std::move(fields)));
    made->node->side_outputs[Port::kLate] = api::keyed_schema(*spec.left);
    made->node->side_outputs[Port::kLateRight] = api::keyed_schema(*spec.right);
    return made;
  });
  const Handle result = add(join, [&]() -> NodeResult {
    plan::Function function;
    function.kind = "join function";
    function.make = [spec](const plan::FunctionOptions&) -> Result<api::OperatorPtr> {
      return api::make_pair_flow(spec);
    };
    auto made = join.job->add(std::move(function), {input_of(join)}, api::element_schema(*spec.output));
    made->node->rowtime = api::time_column(*spec.output);
    return made;
  });
  return {result, join};
}

void take_elements(const Handle& in, const RowType& type, std::string name,
                   std::function<void(const void*)> take) {
  Stream(rows_of(in, type, {})).take(std::move(name), [&type, take = std::move(take)](const Batch& batch) {
    const columnar::Batch& rows = batch.data()->rows;
    api::ElementReader reader(type);
    reader.begin(rows);
    for (int64_t row = 0; row < rows.rows(); ++row) {
      const auto element = reader.read(row);
      if (!element.ok()) throw std::runtime_error(element.status().to_string());
      take(*element);
    }
  });
}

void set_uid(const Handle& handle, std::string id) {
  handle.node->node->id = id;
  handle.node->node->label = std::move(id);
}

}  // namespace strandline::detail
