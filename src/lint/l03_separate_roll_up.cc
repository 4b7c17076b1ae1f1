#include "base/text.h"
#include "lint/rules.h"

namespace strand::lint {

namespace {

const plan::WindowAggregate* window_of(const plan::Node& node) {
  return std::get_if<plan::WindowAggregate>(&node.detail);
}

bool tumbles(const plan::WindowAggregate& window) { return window.kind == expr::WindowKind::kTumble; }

/// Whether both windows read the same rows: some node that is no window feeds both without a window between.
bool same_rows(const plan::Node& a, const plan::Node& b) {
  for (const plan::Input& left : origins(a.inputs[0])) {
    if (window_of(*left.node) != nullptr || left.port != Port::kMain) continue;
    for (const plan::Input& right : origins(b.inputs[0])) {
      if (left.node == right.node && left.port == right.port) return true;
    }
  }
  return false;
}

}  // namespace

void separate_roll_up(const plan::Plan& plan, const Facts&, std::vector<Finding>& found) {
  const std::vector<plan::NodePtr> nodes = plan.nodes();
  for (const plan::NodePtr& longer : nodes) {
    const auto* long_window = window_of(*longer);
    if (long_window == nullptr || !tumbles(*long_window)) continue;
    for (const plan::NodePtr& shorter : nodes) {
      const auto* short_window = window_of(*shorter);
      if (short_window == nullptr || !tumbles(*short_window) || long_window->size <= short_window->size ||
          long_window->size.millis % short_window->size.millis != 0 || !same_rows(*longer, *shorter)) {
        continue;
      }
      found.push_back(at(
          *longer,
          "the " + format_duration(long_window->size) + " window reads the rows that " + shorter->id +
              " counts per " + format_duration(short_window->size),
          "a row late for the short window is still on time for the long one: the long one is not the sum of "
          "the short ones, and a late total counts the row twice",
          "build it from the closed short windows: TUMBLE over the short window's view, on its window_time"));
      break;
    }
  }
}

}  // namespace strand::lint
