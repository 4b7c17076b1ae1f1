#include "sim/world/late_rows.h"

#include <algorithm>

#include "columnar/batch.h"
#include "flow/operator.h"
#include "plan/with_ends.h"

namespace strand::sim {

namespace {

using plan::Node;
using plan::NodePtr;
using plan::WindowAggregate;

bool gives_rows_once(const Node& node) {
  const auto* window = std::get_if<WindowAggregate>(&node.detail);
  return window != nullptr && window->kind == expr::WindowKind::kTumble && !window->fire &&
         !window->changes && node.inputs.size() == 1;
}

std::string late_log(const std::string& window) { return "late rows of " + window; }

std::shared_ptr<Node> node_behind(const Node& window, const char* what, plan::Detail detail,
                                  plan::Input input) {
  auto node = std::make_shared<Node>();
  node->id = window.id + what;
  node->label = node->id;
  node->detail = std::move(detail);
  node->inputs = {std::move(input)};
  node->where = window.where;
  return node;
}

NodePtr late_sink(const NodePtr& window) {
  const columnar::SchemaPtr rows = window->inputs[0].node->schema(window->inputs[0].port);
  plan::Project project;
  plan::SinkWrite sink;
  for (size_t i = 0; i < rows->size(); ++i) {
    project.expressions.push_back(expr::column(i, (*rows)[i].type));
    sink.columns.push_back((*rows)[i].name);
  }
  auto projected =
      node_behind(*window, "/late/project", std::move(project), plan::Input{window, Port::kLate});
  projected->output = rows;
  sink.table.name = late_log(window->id);
  sink.table.schema = rows;
  sink.table.options = {{"connector", "simlog"}};
  sink.writer = "strand";
  return node_behind(*window, "/late/sink", std::move(sink), plan::Input{projected});
}

/// Lets through what is not in the list, each as often as it is there more.
class TakesOut final : public flow::Operator {
 public:
  TakesOut(std::shared_ptr<LateRows> late, std::string window)
      : late_(std::move(late)), window_(std::move(window)) {}
  Status open(flow::OperatorContext& context) override {
    context_ = &context;
    return Status();
  }
  Status process(int, const columnar::Batch& batch, flow::Emitter& out) override {
    RowCounts& rows = (*late_)[window_];
    auto kept = std::make_shared<columnar::Selection>();
    batch.for_each_row([&](int64_t row) {
      const auto found = rows.find(columnar::row_to_string(batch, row));
      if (found == rows.end()) return kept->push_back(static_cast<uint32_t>(row));
      if (--found->second == 0) rows.erase(found);
    });
    context_->ledger->add(obs::Entry::kIn, batch.rows());
    context_->ledger->add(obs::Entry::kCounted, batch.rows());
    context_->ledger->add(obs::Entry::kOut, static_cast<int64_t>(kept->size()));
    return out.emit(Port::kMain, batch.with_selection(std::move(kept)));
  }

 private:
  std::shared_ptr<LateRows> late_;
  std::string window_;
  flow::OperatorContext* context_ = nullptr;
};

}  // namespace

std::vector<std::string> judged_windows(const plan::Plan& job) {
  std::vector<std::string> windows;
  for (const NodePtr& node : job.nodes()) {
    const bool reads_late =
        std::ranges::any_of(node->inputs, [](const plan::Input& in) { return in.port == Port::kLate; });
    if (reads_late) return {};
    if (!plan::judges_lateness(node->detail)) continue;
    if (!gives_rows_once(*node)) return {};
    windows.push_back(node->id);
  }
  return windows;
}

void add_late_logs(plan::Plan& job, const std::vector<std::string>& windows) {
  for (const NodePtr& node : job.nodes()) {
    if (std::ranges::count(windows, node->id) > 0) job.sinks.push_back(late_sink(node));
  }
}

LateRows logged_late_rows(const SimTables& store, const std::vector<std::string>& windows) {
  LateRows late;
  for (const std::string& window : windows) {
    for (const std::string& row : store.added(late_log(window))) ++late[window][row];
  }
  return late;
}

plan::Plan without_rows(const plan::Plan& job, const std::shared_ptr<LateRows>& late) {
  return plan::with_nodes(job, [&](Node& node) {
    if (!late->contains(node.id)) return;
    plan::Input& input = node.inputs[0];
    plan::Function function;
    function.kind = "rows taken out";
    function.make =
        [late, window = node.id](const plan::FunctionOptions&) -> Result<std::unique_ptr<flow::Operator>> {
      return std::unique_ptr<flow::Operator>(std::make_unique<TakesOut>(late, window));
    };
    auto taken_out =
        node_behind(node, "/taken-out", std::move(function), plan::Input{input.node, input.port});
    taken_out->output = input.node->schema(input.port);
    taken_out->rowtime = std::get<WindowAggregate>(node.detail).time_column;
    input.node = std::move(taken_out);
    input.port = Port::kMain;
  });
}

}  // namespace strand::sim
