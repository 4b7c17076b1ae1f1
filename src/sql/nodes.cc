#include "sql/nodes.h"

namespace strand::sql {

std::shared_ptr<plan::Node> Nodes::make(plan::Detail detail, std::vector<plan::Input> inputs,
                                        columnar::SchemaPtr output, const Place& place) {
  ++count_;
  auto node = std::make_shared<plan::Node>();
  const std::string base = owner() + "/" + plan::kind_name(detail);
  const int ordinal = ++used_[base];
  node->id = ordinal == 1 ? base : base + "-" + std::to_string(ordinal);
  node->label = owner();
  node->detail = std::move(detail);
  node->inputs = std::move(inputs);
  node->output = std::move(output);
  node->where = where(place);
  return node;
}

std::string Nodes::unique_owner(const std::string& name) {
  const int ordinal = ++used_owners_[name];
  return ordinal == 1 ? name : name + "-" + std::to_string(ordinal);
}

columnar::SchemaPtr make_schema(std::vector<columnar::Field> fields) {
  return std::make_shared<const columnar::Schema>(std::move(fields));
}

}  // namespace strand::sql
