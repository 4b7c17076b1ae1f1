#include "sql/partition_filter.h"

#include <algorithm>

#include "expr/compile.h"

namespace strand::sql {

using expr::ExprPtr;

namespace {

void split_partition_condition(const ExprPtr& condition, std::vector<ExprPtr>& parts) {
  if (condition->kind != expr::Expr::Kind::kCall || condition->function != "AND") {
    parts.push_back(condition);
    return;
  }
  for (const ExprPtr& arg : condition->args) split_partition_condition(arg, parts);
}

/// Another value for each row.
bool is_random(const expr::Expr& e) {
  const bool random =
      e.kind == expr::Expr::Kind::kCall && (e.function.starts_with("RAND") || e.function == "UUID");
  return random || std::ranges::any_of(e.args, [](const ExprPtr& arg) { return is_random(*arg); });
}

}  // namespace

ExprPtr wanted_partitions(const plan::Scan& scan, const ExprPtr& condition) {
  constexpr size_t kNone = SIZE_MAX;
  std::vector<size_t> partition_of(scan.project.size(), kNone);
  for (size_t i = 0; i < scan.project.size(); ++i) {
    if (scan.project[i]->kind != expr::Expr::Kind::kColumn) continue;
    const size_t read = scan.read[scan.project[i]->column];
    if (read >= scan.table.schema->size()) continue;
    const auto at = std::ranges::find(scan.table.partitions, (*scan.table.schema)[read].name);
    if (at != scan.table.partitions.end())
      partition_of[i] = static_cast<size_t>(at - scan.table.partitions.begin());
  }
  std::vector<ExprPtr> parts, wanted;
  split_partition_condition(condition, parts);
  for (const ExprPtr& part : parts) {
    const std::vector<size_t> columns = expr::columns_of(*part);
    const bool of_partitions =
        std::ranges::all_of(columns, [&](size_t column) { return partition_of[column] != kNone; });
    const bool known = !expr::reads_clock(*part) && !expr::reads_watermark(*part) && !is_random(*part);
    if (!columns.empty() && of_partitions && known) wanted.push_back(expr::remap(part, partition_of));
  }
  if (wanted.size() < 2) return wanted.empty() ? nullptr : wanted[0];
  auto all = expr::resolve_call("AND", wanted);
  return all.ok() ? *std::move(all) : nullptr;
}

}  // namespace strand::sql
