#include "sql/rebuild.h"

namespace strand::sql {

using plan::Input;
using plan::Node;
using plan::NodePtr;

Rebuild::Joined Rebuild::join_inputs(const NodePtr& node, const plan::JoinOn& on) const {
  Joined joined{
      {keyed_edge(node, on.keys[0], 0, "/left"), keyed_edge(node, on.keys[1], 1, "/right")}, {}, {}, on, {}};
  std::vector<size_t> position;  // of the columns of both sides
  for (size_t side = 0; side < 2; ++side) {
    const Built& from = joined.edges[side].from;
    const size_t first = joined.fields.size();
    for (const size_t at : from.position) position.push_back(at == kGone ? kGone : first + at);
    for (columnar::Field field : from.schema()->fields()) {
      if (plan::is_outer(on.kind, 1 - side)) field.type = columnar::with_nullable(field.type, true);
      joined.fields.push_back(std::move(field));
    }
    joined.on.keys[side] = from.at(on.keys[side]);
  }
  if (on.condition) joined.on.condition = expr::remap(on.condition, position);
  if (!plan::gives_pairs(on.kind)) {
    position.resize(joined.edges[0].from.position.size());
    joined.fields.resize(joined.edges[0].from.schema()->size());
  }
  joined.main.position = std::move(position);
  // The keys of a side that is padded with NULLs do not tell where its row is.
  if (!on.keys[0].empty() && !plan::is_outer(on.kind, 1)) joined.main.hashed = joined.on.keys[0];
  if (node->rowtime && joined.main.position[*node->rowtime] != kGone) {
    joined.rowtime = joined.main.position[*node->rowtime];
  }
  return joined;
}

void Rebuild::keep_join(const NodePtr& node, plan::Detail detail, Joined joined) {
  auto made = copy(node, std::move(detail), {joined.edges[0].input, joined.edges[1].input});
  made->output = make_schema(std::move(joined.fields));
  made->rowtime = joined.rowtime;
  joined.main.node = made;
  keep(node, std::move(joined.main));
}

void Rebuild::build(const NodePtr& node, const plan::IntervalJoin& join) {
  Joined joined = join_inputs(node, join.on);
  plan::IntervalJoin moved = join;
  moved.on = joined.on;
  for (size_t side = 0; side < 2; ++side) {
    moved.time_columns[side] = joined.edges[side].from.at(join.time_columns[side]);
  }
  keep_join(node, std::move(moved), std::move(joined));
}

void Rebuild::build(const NodePtr& node, const plan::WindowJoin& join) {
  Joined joined = join_inputs(node, join.on);
  plan::WindowJoin moved = join;
  moved.on = joined.on;
  for (size_t side = 0; side < 2; ++side) {
    moved.window_ends[side] = joined.edges[side].from.at(join.window_ends[side]);
  }
  keep_join(node, std::move(moved), std::move(joined));
}

void Rebuild::build(const NodePtr& node, const plan::RegularJoin& join) {
  Joined joined = join_inputs(node, join.on);
  plan::RegularJoin moved{joined.on, join.ttl, join.update_kinds};
  keep_join(node, std::move(moved), std::move(joined));
}

void Rebuild::build(const NodePtr& node, const plan::TemporalJoin& join) {
  Joined joined = join_inputs(node, join.on);
  plan::TemporalJoin moved = join;
  moved.on = joined.on;
  for (size_t side = 0; side < 2; ++side)
    moved.time_columns[side] = joined.edges[side].from.at(join.time_columns[side]);
  keep_join(node, std::move(moved), std::move(joined));
}

}  // namespace strand::sql
