#include "lint/rules.h"

namespace strand::lint {

namespace {

bool is_float(const columnar::Type& type) {
  return type.kind == columnar::TypeKind::kFloat || type.kind == columnar::TypeKind::kDouble;
}

bool adds_money(const expr::Aggregate& aggregate, const std::string& column) {
  const bool adds =
      aggregate.kind == expr::Aggregate::Kind::kSum || aggregate.kind == expr::Aggregate::Kind::kAvg;
  return adds && has_word(column, {"amount", "price", "cost", "spend", "revenue", "total", "fee", "balance"});
}

struct Grouping {
  const std::vector<size_t>* keys;
  const std::vector<expr::Aggregate>* aggregates;
};

std::optional<Grouping> grouping_of(const plan::Detail& detail) {
  if (const auto* group = std::get_if<plan::GroupAggregate>(&detail))
    return Grouping{&group->keys, &group->aggregates};
  if (const auto* window = std::get_if<plan::WindowAggregate>(&detail))
    return Grouping{&window->keys, &window->aggregates};
  return std::nullopt;
}

void check_money(const plan::Node& node, const std::vector<expr::Aggregate>& aggregates,
                 std::vector<Finding>& found) {
  for (const expr::Aggregate& aggregate : aggregates) {
    if (!aggregate.input || !is_float(*aggregate.input)) continue;
    const columnar::Field& column = node.input(0)[aggregate.column];
    if (!adds_money(aggregate, column.name)) continue;
    found.push_back(at(node, "an aggregate of " + column.name + " adds " + columnar::to_string(*column.type),
                       "a sum of such numbers depends on the order of the rows: a replay gives other cents",
                       "keep amounts as DECIMAL, or as BIGINT of the smallest unit"));
    found.back().severity = Severity::kNote;
  }
}

}  // namespace

/// cases.md, float-key and float-money.
void float_keys_and_money(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  for (const plan::NodePtr& node : plan.nodes()) {
    const auto grouping = grouping_of(node->detail);
    if (!grouping) continue;
    for (const size_t key : *grouping->keys) {
      const columnar::Field& column = node->input(0)[key];
      if (!is_float(*column.type)) continue;
      found.push_back(
          at(*node, "rows are grouped by " + column.name + ", a " + columnar::to_string(*column.type),
             "two computations of one number may differ in the last digit, and are two groups then",
             "group by a DECIMAL, or by ROUND(" + column.name + ", 2) CAST to one"));
    }
    check_money(*node, *grouping->aggregates, found);
  }
}

}  // namespace strand::lint
