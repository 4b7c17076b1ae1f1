#include "runtime/build_operator.h"

#include "base/overload.h"
#include "ops/interval_join.h"
#include "ops/lookup_join.h"
#include "ops/match.h"
#include "ops/materialize.h"
#include "ops/operators.h"
#include "ops/ordered_over.h"
#include "ops/over_aggregate.h"
#include "ops/read_time.h"
#include "ops/regular_join.h"
#include "ops/rowtime_deduplicate.h"
#include "ops/session_rows.h"
#include "ops/temporal_join.h"
#include "ops/time_sort.h"
#include "ops/top_n.h"
#include "ops/unnest.h"
#include "ops/window_join.h"
#include "ops/window_top_n.h"

namespace strand::runtime {

namespace {

using OperatorPtr = std::unique_ptr<flow::Operator>;

columnar::SchemaPtr input_schema(const plan::Node& node) {
  return node.inputs[0].node->schema(node.inputs[0].port);
}

Result<OperatorPtr> build_window(const GraphNode& node, const plan::WindowAggregate& window,
                                 const std::string& zone, const Defences& defences) {
  ops::WindowOptions options;
  options.input = input_schema(*node.node);
  options.keys = window.keys;
  options.time_column = window.time_column;
  options.kind = window.kind;
  options.size = window.size;
  options.step = window.step;
  options.offset = window.offset;
  options.aggregates = window.aggregates;
  options.output = node.node->output;
  const auto late = node.node->side_outputs.find(Port::kLate);
  if (late != node.node->side_outputs.end()) options.late_output = late->second;
  options.zone = window.zone.empty() ? zone : window.zone;
  options.early_delay = window.early_delay;
  options.changes = window.changes;
  if (window.fire) {
    options.fire = ops::WindowFire{window.fire->early, window.fire->late, window.fire->lateness,
                                   window.fire->update_before};
  }
  options.partial_input = node.partial_input;
  options.partial_rules = {defences.partial_rows_judged, defences.partials_before_watermark};
  if (node.partial)
    return ops::make_pre_aggregate(std::move(options), window.pre_aggregate.value_or(Duration{0}));
  return ops::make_window_aggregate(std::move(options));
}

Result<OperatorPtr> build_rowtime_deduplicate(const plan::Node& node, const plan::Deduplicate& dedup) {
  ops::RowtimeDeduplicateOptions options;
  options.input = input_schema(node);
  options.keys = dedup.keys;
  options.time_column = dedup.time_column;
  options.last = dedup.last;
  options.wait = !dedup.last;
  options.update_before = dedup.update_before;
  options.upserts = dedup.upserts;
  options.ttl = dedup.ttl;
  if (dedup.retention) {
    options.retention_column = dedup.retention->column;
    options.retention_after = dedup.retention->after;
  }
  return ops::make_rowtime_deduplicate(std::move(options));
}

Result<OperatorPtr> build_over(const plan::Node& node, const plan::OverAggregate& over) {
  ops::OverOptions options;
  options.input = input_schema(node);
  options.keys = over.keys;
  options.time_column = over.time_column;
  options.range = over.range;
  options.preceding = over.preceding;
  options.aggregates = over.aggregates;
  options.ranks = over.ranks;
  options.output = node.output;
  options.order = over.order;
  options.changes = over.changes;
  options.update_before = over.update_before;
  options.ttl = over.ttl;
  if (!over.order.empty()) return ops::make_ordered_over(std::move(options));
  return ops::make_over_aggregate(std::move(options));
}

Result<OperatorPtr> build_match(const plan::Node& node, const plan::Match& match,
                                const expr::CompileOptions& compile) {
  ops::MatchOptions options;
  options.input = input_schema(node);
  options.keys = match.keys;
  options.time_column = match.time_column;
  options.pattern = match.pattern;
  options.skip = match.skip;
  options.skip_to = match.skip_to;
  options.within = match.within;
  options.measures = match.measures;
  options.output = node.output;
  options.compile = compile;
  return ops::make_match(std::move(options));
}

OperatorPtr build_unnest(const plan::Node& node, const plan::Unnest& unnest) {
  ops::UnnestOptions options;
  options.input = input_schema(node);
  options.column = unnest.column;
  options.keep = unnest.keep;
  options.outer = unnest.outer;
  options.ordinality = unnest.ordinality;
  options.output = node.output;
  return ops::make_unnest(std::move(options));
}

Result<OperatorPtr> build_top_n(const plan::Node& node, const plan::TopN& top) {
  ops::TopNOptions options;
  options.input = input_schema(node);
  options.keys = top.keys;
  options.order = top.order;
  options.from = top.from;
  options.to = top.to;
  options.rank = top.rank;
  options.changes = top.changes;
  options.update_before = top.update_before;
  options.ttl = top.ttl;
  options.output = node.output;
  return ops::make_top_n(std::move(options));
}

Result<OperatorPtr> build_window_top_n(const plan::Node& node, const plan::WindowTopN& top) {
  ops::WindowTopNOptions options;
  options.input = input_schema(node);
  options.keys = top.keys;
  options.window_start = top.window_start;
  options.window_end = top.window_end;
  options.zone = top.zone;
  options.order = top.order;
  options.from = top.from;
  options.to = top.to;
  options.last_of_equal = top.last_of_equal;
  options.rank = top.rank;
  options.output = node.output;
  return ops::make_window_top_n(std::move(options));
}

Result<OperatorPtr> build_session_rows(const plan::Node& node, const plan::SessionRows& session) {
  ops::SessionRowsOptions options;
  options.input = input_schema(node);
  options.keys = session.keys;
  options.time_column = session.time_column;
  options.gap = session.gap;
  options.zone = session.zone;
  options.output = node.output;
  return ops::make_session_rows(std::move(options));
}

Result<OperatorPtr> build_deduplicate(const plan::Node& node, const plan::Deduplicate& dedup) {
  if (dedup.time_column || dedup.last) return build_rowtime_deduplicate(node, dedup);
  ops::DeduplicateOptions options;
  options.input = input_schema(node);
  options.keys = dedup.keys;
  if (dedup.retention) {
    options.retention_column = dedup.retention->column;
    options.retention_after = dedup.retention->after;
  }
  options.ttl = dedup.ttl;
  return ops::make_deduplicate(std::move(options));
}

Result<OperatorPtr> build_group(const plan::Node& node, const plan::GroupAggregate& group) {
  ops::GroupOptions options;
  options.input = input_schema(node);
  options.keys = group.keys;
  options.aggregates = group.aggregates;
  options.output = node.output;
  if (group.retention) {
    options.retention_column = group.retention->column;
    options.retention_after = group.retention->after;
  }
  options.update_before = group.update_before;
  options.changes = group.changes;
  options.ttl = group.ttl;
  return ops::make_group_aggregate(std::move(options));
}

Result<OperatorPtr> build_interval_join(const plan::Node& node, const plan::IntervalJoin& join,
                                        const expr::CompileOptions& compile, bool flink_restore) {
  ops::IntervalJoinOptions options;
  if (join.stream_rules) {
    options.rules = ops::IntervalJoinOptions::Rules::kStream;
    options.flink_restore = flink_restore;
  }
  for (size_t side = 0; side < 2; ++side) {
    const plan::Input& input = node.inputs[side];
    options.sides[side] = {input.node->schema(input.port), join.on.keys[side], join.time_columns[side],
                           plan::is_outer(join.on.kind, side)};
  }
  options.lower = join.lower;
  options.upper = join.upper;
  options.condition = join.on.condition;
  options.compile = compile;
  options.output = node.output;
  return ops::make_interval_join(std::move(options));
}

/// What regular and window joins are told alike.
template <class Options>
void set_join(const plan::Node& node, const plan::JoinOn& on, const expr::CompileOptions& compile,
              Options& options) {
  for (size_t side = 0; side < 2; ++side) {
    const plan::Input& input = node.inputs[side];
    options.sides[side].schema = input.node->schema(input.port);
    options.sides[side].keys = on.keys[side];
    options.sides[side].outer = plan::is_outer(on.kind, side);
    for (size_t i = 0; i < on.nulls_equal.size(); ++i) {
      if (on.nulls_equal[i]) options.sides[side].nulls_equal.push_back(on.keys[side][i]);
    }
  }
  if (on.kind == plan::JoinKind::kSemi) options.kind = Options::Output::kSemi;
  if (on.kind == plan::JoinKind::kAnti) options.kind = Options::Output::kAnti;
  options.condition = on.condition;
  options.compile = compile;
  options.output = node.output;
}

Result<OperatorPtr> build_regular_join(const plan::Node& node, const plan::RegularJoin& join,
                                       const expr::CompileOptions& compile) {
  ops::RegularJoinOptions options;
  set_join(node, join.on, compile, options);
  options.ttl = join.ttl;
  options.update_kinds = join.update_kinds;
  return ops::make_regular_join(std::move(options));
}

Result<OperatorPtr> build_window_join(const plan::Node& node, const plan::WindowJoin& join,
                                      const expr::CompileOptions& compile) {
  ops::WindowJoinOptions options;
  set_join(node, join.on, compile, options);
  std::vector<columnar::Field> both;
  for (size_t side = 0; side < 2; ++side) {
    options.sides[side].window_end = join.window_ends[side];
    for (const columnar::Field& field : node.input(side).fields()) both.push_back(field);
  }
  options.pairs = std::make_shared<const columnar::Schema>(std::move(both));
  options.zone = join.zone;
  return ops::make_window_join(std::move(options));
}

Result<OperatorPtr> build_temporal_join(const plan::Node& node, const plan::TemporalJoin& join,
                                        const expr::CompileOptions& compile) {
  ops::TemporalJoinOptions options;
  std::vector<columnar::Field> both;
  for (size_t side = 0; side < 2; ++side) {
    const plan::Input& input = node.inputs[side];
    options.sides[side] = {input.node->schema(input.port), join.on.keys[side], join.time_columns[side]};
    for (const columnar::Field& field : node.input(side).fields()) both.push_back(field);
  }
  options.outer = join.on.kind == plan::JoinKind::kLeft;
  options.condition = join.on.condition;
  options.compile = compile;
  options.pairs = std::make_shared<const columnar::Schema>(std::move(both));
  options.output = node.output;
  return ops::make_temporal_join(std::move(options));
}

Result<OperatorPtr> build_lookup_join(const plan::Node& node, const plan::LookupJoin& join,
                                      const expr::CompileOptions& compile, const Tables& tables) {
  ops::LookupJoinOptions options;
  options.input = input_schema(node);
  options.keys = join.keys;
  STRAND_TRY(options.lookup, tables.lookup(join));
  options.outer = join.outer;
  options.condition = join.condition;
  options.compile = compile;
  options.output = node.output;
  return ops::make_lookup_join(std::move(options));
}

Result<OperatorPtr> no_operator(const plan::Node& node) {
  return Status(ErrorCode::kInternal,
                std::string("a ") + plan::kind_name(node.detail) + " node is no operator")
      .at(node.id);
}

}  // namespace

bool is_keyed(const GraphNode& node) {
  if (node.partial) return false;
  if (const auto* function = std::get_if<plan::Function>(&node.node->detail)) return function->keyed;
  return std::holds_alternative<plan::Deduplicate>(node.node->detail) ||
         std::holds_alternative<plan::OverAggregate>(node.node->detail) ||
         std::holds_alternative<plan::Match>(node.node->detail) ||
         std::holds_alternative<plan::TopN>(node.node->detail) ||
         std::holds_alternative<plan::WindowTopN>(node.node->detail) ||
         std::holds_alternative<plan::SessionRows>(node.node->detail) ||
         std::holds_alternative<plan::Materialize>(node.node->detail) ||
         std::holds_alternative<plan::TemporalJoin>(node.node->detail) ||
         std::holds_alternative<plan::WindowAggregate>(node.node->detail) ||
         std::holds_alternative<plan::GroupAggregate>(node.node->detail) ||
         std::holds_alternative<plan::IntervalJoin>(node.node->detail) ||
         std::holds_alternative<plan::WindowJoin>(node.node->detail) ||
         std::holds_alternative<plan::RegularJoin>(node.node->detail);
}

Result<OperatorPtr> build_operator(const GraphNode& graph_node, const std::string& zone,
                                   const Defences& defences, const Tables& tables,
                                   const plan::FunctionOptions& functions) {
  const plan::Node& node = *graph_node.node;
  const expr::CompileOptions compile{zone};
  return std::visit(
      Overload{
          [&](const plan::Filter& f) { return ops::make_filter(f.condition, compile, f.whole_updates); },
          [&](const plan::Project& p) { return ops::make_project(p.expressions, node.output, compile); },
          [&](const plan::Union&) { return Result<OperatorPtr>(ops::make_union(node.output)); },
          [&](const plan::ReadTime& r) {
            return Result<OperatorPtr>(ops::make_read_time({r.time_column, functions.tick}));
          },
          [&](const plan::Unnest& u) { return Result<OperatorPtr>(build_unnest(node, u)); },
          [&](const plan::Deduplicate& d) { return build_deduplicate(node, d); },
          [&](const plan::OverAggregate& o) { return build_over(node, o); },
          [&](const plan::Match& m) { return build_match(node, m, compile); },
          [&](const plan::TopN& t) { return build_top_n(node, t); },
          [&](const plan::WindowTopN& t) { return build_window_top_n(node, t); },
          [&](const plan::SessionRows& s) { return build_session_rows(node, s); },
          [&](const plan::TimeSort& s) {
            return Result<OperatorPtr>(ops::make_time_sort({input_schema(node), s.time_column, s.order}));
          },
          [&](const plan::Materialize& m) { return ops::make_materialize({input_schema(node), m.keys}); },
          [&](const plan::TemporalJoin& j) { return build_temporal_join(node, j, compile); },
          [&](const plan::LookupJoin& j) { return build_lookup_join(node, j, compile, tables); },
          [&](const plan::WindowAggregate& w) { return build_window(graph_node, w, zone, defences); },
          [&](const plan::GroupAggregate& g) { return build_group(node, g); },
          [&](const plan::IntervalJoin& j) {
            return build_interval_join(node, j, compile, functions.flink_restore);
          },
          [&](const plan::WindowJoin& j) { return build_window_join(node, j, compile); },
          [&](const plan::RegularJoin& j) { return build_regular_join(node, j, compile); },
          [&](const plan::Function& f) { return f.make(functions); },
          [&](const plan::Scan&) { return no_operator(node); },
          [&](const plan::SinkWrite&) { return no_operator(node); },
      },
      node.detail);
}

}  // namespace strand::runtime
