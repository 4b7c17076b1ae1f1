#include "plan/with_ends.h"

namespace strand::plan {

namespace {

class Copy {
 public:
  Copy(const std::function<void(Scan&)>& read, const std::function<void(SinkWrite&)>& write)
      : read_(read), write_(write) {}

  NodePtr of(const NodePtr& node) {
    NodePtr& done = done_[node.get()];
    if (done) return done;
    auto copy = std::make_shared<Node>(*node);
    for (Input& input : copy->inputs) input.node = of(input.node);
    if (auto* scan = std::get_if<Scan>(&copy->detail)) read_(*scan);
    if (auto* write = std::get_if<SinkWrite>(&copy->detail)) write_(*write);
    done_[node.get()] = copy;
    return copy;
  }

 private:
  const std::function<void(Scan&)>& read_;
  const std::function<void(SinkWrite&)>& write_;
  std::map<const Node*, NodePtr> done_;
};

}  // namespace

Plan with_ends(const Plan& plan, const std::function<void(Scan&)>& read,
               const std::function<void(SinkWrite&)>& write) {
  Plan out = plan;
  Copy copy(read, write);
  for (NodePtr& sink : out.sinks) sink = copy.of(sink);
  return out;
}

}  // namespace strand::plan
