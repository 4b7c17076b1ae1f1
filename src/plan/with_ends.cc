#include "plan/with_ends.h"

namespace strand::plan {

namespace {

class Copy {
 public:
  explicit Copy(const std::function<void(Node&)>& change) : change_(change) {}

  NodePtr of(const NodePtr& node) {
    NodePtr& done = done_[node.get()];
    if (done) return done;
    auto copy = std::make_shared<Node>(*node);
    for (Input& input : copy->inputs) input.node = of(input.node);
    change_(*copy);
    done_[node.get()] = copy;
    return copy;
  }

 private:
  const std::function<void(Node&)>& change_;
  std::map<const Node*, NodePtr> done_;
};

}  // namespace

Plan with_nodes(const Plan& plan, const std::function<void(Node&)>& change) {
  Plan out = plan;
  Copy copy(change);
  for (NodePtr& sink : out.sinks) sink = copy.of(sink);
  return out;
}

Plan with_ends(const Plan& plan, const std::function<void(Scan&)>& read,
               const std::function<void(SinkWrite&)>& write) {
  return with_nodes(plan, [&](Node& node) {
    if (auto* scan = std::get_if<Scan>(&node.detail)) read(*scan);
    if (auto* sink = std::get_if<SinkWrite>(&node.detail)) write(*sink);
  });
}

}  // namespace strand::plan
