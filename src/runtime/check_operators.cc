#include "runtime/check_operators.h"

#include <algorithm>

#include "expr/compile.h"
#include "runtime/build_operator.h"
#include "runtime/tables.h"

namespace strand::runtime {

namespace {

bool bad_is_read_of(const plan::Plan& plan, const plan::Node& scan) {
  const auto nodes = plan.nodes();
  return std::any_of(nodes.begin(), nodes.end(), [&](const plan::NodePtr& reader) {
    return std::any_of(reader->inputs.begin(), reader->inputs.end(), [&](const plan::Input& input) {
      return input.node.get() == &scan && input.port == Port::kBad;
    });
  });
}

Status check_scan(const plan::Scan& scan, bool want_bad, const Tables& tables, const std::string& zone) {
  STRAND_TRY(const auto finder, tables.finder(scan, want_bad));
  STRAND_TRY(const auto reader, tables.reader(scan, want_bad));
  const expr::CompileOptions options{zone};
  for (const expr::ExprPtr& expression : scan.project) {
    STRAND_TRY(const auto compiled, expr::compile(expression, options));
  }
  if (!scan.watermark || !scan.watermark->expression) return Status();
  STRAND_TRY(const auto compiled, expr::compile(scan.watermark->expression, options));
  return Status();
}

Status check_operator(const GraphNode& node, const std::string& zone, const Tables& tables) {
  STRAND_TRY(const auto made, build_operator(node, zone, Defences(), tables, {}));
  return Status();
}

Status check_sink(const plan::SinkWrite& write, const Tables& tables) {
  STRAND_TRY(const auto made, tables.sink(write));
  return Status();
}

}  // namespace

Status check_operators(const plan::Plan& plan, const connect::Registry& registry, int32_t parallelism,
                       const std::string& zone, env::Env env) {
  const Tables tables(registry, {plan.job, zone, env});
  STRAND_TRY(const Graph graph, make_graph(plan, parallelism, registry));
  for (const GraphNode& node : graph.nodes) {
    const plan::Detail& detail = node.node->detail;
    const auto* scan = std::get_if<plan::Scan>(&detail);
    const auto* write = std::get_if<plan::SinkWrite>(&detail);
    Status checked = scan != nullptr    ? check_scan(*scan, bad_is_read_of(plan, *node.node), tables, zone)
                     : write != nullptr ? check_sink(*write, tables)
                                        : check_operator(node, zone, tables);
    STRAND_OK(std::move(checked).at(node.node->where.empty() ? node.id : node.node->where));
  }
  return Status();
}

Result<std::vector<StateHome>> state_homes(const plan::Plan& plan, const connect::Registry& registry,
                                           int32_t parallelism, const std::string& zone, env::Env env) {
  const Tables tables(registry, {plan.job, zone, env});
  STRAND_TRY(const Graph graph, make_graph(plan, parallelism, registry));
  std::vector<StateHome> homes;
  for (const GraphNode& node : graph.nodes) {
    if (!is_keyed(node)) continue;
    STRAND_TRY(const auto made, build_operator(node, zone, Defences(), tables, {}));
    homes.push_back({node.id, made->spills()});
  }
  return homes;
}

}  // namespace strand::runtime
