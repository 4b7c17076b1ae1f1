#include "sql/partition_filter.h"
#include "sql/rebuild.h"

namespace strand::sql {

using plan::Input;
using plan::Node;
using plan::NodePtr;

void Rebuild::build(const NodePtr& node, const plan::Scan& scan) {
  ColumnSet keep_columns = read_of(node, Port::kMain) ? *read_of(node, Port::kMain) : ColumnSet{};
  if (scan.watermark) {
    keep_columns.insert(scan.watermark->time_column);
    const auto more = expr::columns_of(*scan.watermark->expression);
    keep_columns.insert(more.begin(), more.end());
  }
  if (keep_columns.empty()) keep_columns.insert(0);
  Built main{nullptr, Port::kMain, std::vector<size_t>(node->output->size(), kGone)};
  ColumnSet physical;
  std::vector<columnar::Field> fields;
  for (const size_t column : keep_columns) {
    main.position[column] = fields.size();
    fields.push_back((*node->output)[column]);
    const auto read = expr::columns_of(*scan.project[column]);
    physical.insert(read.begin(), read.end());
  }
  std::vector<size_t> moved(scan.read.size(), kGone);
  plan::Scan pruned{
      .table = scan.table, .read = {}, .project = {}, .watermark = scan.watermark, .changes = scan.changes};
  for (const size_t column : physical) {
    moved[column] = pruned.read.size();
    pruned.read.push_back(scan.read[column]);
  }
  for (const size_t column : keep_columns) pruned.project.push_back(expr::remap(scan.project[column], moved));
  if (pruned.watermark) {
    pruned.watermark->time_column = main.at(scan.watermark->time_column);
    pruned.watermark->expression = expr::remap(scan.watermark->expression, main.position);
  }
  auto made = copy(node, std::move(pruned), {});
  made->output = make_schema(std::move(fields));
  if (node->rowtime) made->rowtime = main.at(*node->rowtime);
  main.node = made;
  keep(node, {made, Port::kBad, identity(node->side_outputs.at(Port::kBad)->size())});
  keep(node, std::move(main));
}

void Rebuild::build(const NodePtr& node, const plan::Filter& filter) {
  Built from = input_of(node);
  const bool only_reader = readers_.at(node->inputs[0].node.get()) == 1;
  if (auto* scan = std::get_if<plan::Scan>(&draft(from.node).detail); scan != nullptr && only_reader)
    scan->wanted = wanted_partitions(*scan, expr::remap(filter.condition, from.position));
  auto made = copy(node, plan::Filter{expr::remap(filter.condition, from.position), filter.whole_updates},
                   {{from.node, from.port}});
  made->output = from.schema();
  made->rowtime = from.port == Port::kMain ? from.node->rowtime : std::nullopt;
  from.node = made;
  from.port = Port::kMain;
  keep(node, std::move(from));
}

void Rebuild::build(const NodePtr& node, const plan::Project& project) {
  const Built& from = input_of(node);
  Built main{nullptr, Port::kMain, std::vector<size_t>(project.expressions.size(), kGone)};
  plan::Project pruned;
  std::vector<columnar::Field> fields;
  std::optional<size_t> rowtime;
  for (const size_t column : *read_of(node, Port::kMain)) {
    main.position[column] = fields.size();
    if (node->rowtime == column) rowtime = fields.size();
    fields.push_back((*node->output)[column]);
    pruned.expressions.push_back(expr::remap(project.expressions[column], from.position));
  }
  main.hashed = map_hash(from, pruned);
  if (only_renames(node, from, pruned)) {
    draft(from.node).output = make_schema(std::move(fields));
    main.node = from.node;
    keep(node, std::move(main));
    return;
  }
  auto made = copy(node, std::move(pruned), {{from.node, from.port}});
  made->output = make_schema(std::move(fields));
  made->rowtime = rowtime;
  main.node = made;
  keep(node, std::move(main));
}

bool Rebuild::only_renames(const NodePtr& node, const Built& from, const plan::Project& project) const {
  const plan::Detail& below = from.node->detail;
  if (from.port != Port::kMain || readers_.at(node->inputs[0].node.get()) != 1) return false;
  if (!std::holds_alternative<plan::Project>(below) && !std::holds_alternative<plan::Union>(below))
    return false;
  if (project.expressions.size() != from.schema()->size()) return false;
  for (size_t i = 0; i < project.expressions.size(); ++i) {
    const expr::Expr& e = *project.expressions[i];
    if (e.kind != expr::Expr::Kind::kColumn || e.column != i) return false;
  }
  return true;
}

void Rebuild::build(const NodePtr& node, const plan::Union&) {
  const ColumnSet& read = *read_of(node, Port::kMain);
  const std::vector<size_t> columns(read.begin(), read.end());
  std::vector<Input> inputs;
  Built main{nullptr, Port::kMain, std::vector<size_t>(node->output->size(), kGone)};
  for (size_t i = 0; i < node->inputs.size(); ++i) {
    const Built branch = narrow(input_of(node, i), columns, node, "/input-" + std::to_string(i + 1));
    inputs.push_back({branch.node, branch.port});
    if (i == 0) main.hashed = branch.hashed;
    if (branch.hashed != main.hashed) main.hashed.reset();
  }
  auto made = copy(node, plan::Union{}, std::move(inputs));
  std::vector<columnar::Field> fields;
  for (const size_t column : columns) {
    main.position[column] = fields.size();
    if (node->rowtime == column) made->rowtime = fields.size();
    fields.push_back((*node->output)[column]);
  }
  made->output = make_schema(std::move(fields));
  main.node = made;
  keep(node, std::move(main));
}

void Rebuild::build(const NodePtr& node, const plan::ReadTime& read) {
  Built from = input_of(node);
  auto made = copy(node, plan::ReadTime{from.at(read.time_column)}, {{from.node, from.port}});
  made->output = from.schema();
  made->rowtime = from.at(read.time_column);
  from.node = made;
  from.port = Port::kMain;
  keep(node, std::move(from));
}

void Rebuild::build(const NodePtr& node, const plan::Unnest& unnest) {
  const Built& from = input_of(node);
  const ColumnSet& read = *read_of(node, Port::kMain);
  plan::Unnest moved = unnest;
  moved.column = from.at(unnest.column);
  moved.keep.clear();
  Built main{nullptr, Port::kMain, std::vector<size_t>(node->output->size(), kGone)};
  std::vector<columnar::Field> fields;
  std::optional<size_t> rowtime;
  for (size_t i = 0; i < node->output->size(); ++i) {
    const bool is_element = i >= unnest.keep.size();
    if (!is_element && !read.contains(i)) continue;
    main.position[i] = fields.size();
    if (node->rowtime == i) rowtime = fields.size();
    if (!is_element) moved.keep.push_back(from.at(unnest.keep[i]));
    fields.push_back((*node->output)[i]);
  }
  plan::Project kept;
  for (const size_t column : moved.keep)
    kept.expressions.push_back(expr::column(column, (*from.schema())[column].type));
  main.hashed = map_hash(from, kept);
  auto made = copy(node, std::move(moved), {{from.node, from.port}});
  made->output = make_schema(std::move(fields));
  made->rowtime = rowtime;
  main.node = made;
  keep(node, std::move(main));
}

void Rebuild::build(const NodePtr& node, const plan::LookupJoin& lookup) {
  const Built& from = input_of(node);
  const size_t own = node->output->size() - lookup.read.size();
  ColumnSet read = *read_of(node, Port::kMain);
  if (lookup.condition) {
    const auto more = expr::columns_of(*lookup.condition);
    read.insert(more.begin(), more.end());
  }
  plan::LookupJoin moved = lookup;
  moved.keys = from.at(lookup.keys);
  moved.read.clear();
  Built main = from;
  main.port = Port::kMain;
  main.position.resize(node->output->size(), kGone);
  std::vector<columnar::Field> fields = from.schema()->fields();
  for (size_t i = own; i < node->output->size(); ++i) {
    if (!read.contains(i)) continue;
    main.position[i] = fields.size();
    fields.push_back((*node->output)[i]);
    moved.read.push_back(lookup.read[i - own]);
  }
  if (lookup.condition) moved.condition = expr::remap(lookup.condition, main.position);
  auto made = copy(node, std::move(moved), {{from.node, from.port}});
  made->output = make_schema(std::move(fields));
  made->rowtime = from.port == Port::kMain ? from.node->rowtime : std::nullopt;
  main.node = made;
  keep(node, std::move(main));
}

void Rebuild::build(const NodePtr& node, const plan::Function& function) {
  std::vector<Input> inputs = node->inputs;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Built from =
        narrow(input_of(node, i), identity(node->input(i).size()), node, "/input" + std::to_string(i));
    inputs[i].node = from.node;
    inputs[i].port = from.port;
  }
  keep(node, {copy(node, function, std::move(inputs)), Port::kMain, {}});
}

void Rebuild::build(const NodePtr& node, const plan::SinkWrite& sink) {
  const Built from = narrow(input_of(node), identity(sink.columns.size()), node, "/input");
  Input input{from.node, from.port};
  const std::vector<size_t>& keys = node->inputs[0].hash_keys;
  // As for operators with state by key: a subtask of a sink flushes what it owns, and is told what is held
  // of it.
  if (from.hashed != keys) input.hash_keys = keys;
  keep(node, {copy(node, sink, {input}), Port::kMain, {}});
}

}  // namespace strand::sql
