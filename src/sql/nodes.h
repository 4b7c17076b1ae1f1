// Makes plan nodes with ids that stay.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "sql/source_text.h"

namespace strand::sql {

/// An id is `owner/kind`, or `owner/kind-2` for the second of that kind: the owner is the view, table or
/// writer that the node belongs to, so an edit elsewhere in the file changes no id.
class Nodes {
 public:
  /// While it lives, new nodes belong to `owner`.
  class Owner {
   public:
    Owner(Nodes& nodes, std::string owner) : nodes_(nodes) { nodes_.owners_.push_back(std::move(owner)); }
    ~Owner() { nodes_.owners_.pop_back(); }
    Owner(const Owner&) = delete;
    Owner& operator=(const Owner&) = delete;

   private:
    Nodes& nodes_;
  };

  std::shared_ptr<plan::Node> make(plan::Detail detail, std::vector<plan::Input> inputs,
                                   columnar::SchemaPtr output, const Place& place);
  const std::string& owner() const { return owners_.back(); }
  /// How many were made.
  size_t count() const { return count_; }
  /// A name for an owner that nobody has: `name`, else `name-2`, ….
  std::string unique_owner(const std::string& name);

 private:
  std::vector<std::string> owners_;
  std::map<std::string, int> used_;
  std::map<std::string, int> used_owners_;
  size_t count_ = 0;
};

/// Nodes are not shared outside the compiler before it is done: this is how it changes one that it has made.
inline plan::Node& draft(const plan::NodePtr& node) { return *std::const_pointer_cast<plan::Node>(node); }

columnar::SchemaPtr make_schema(std::vector<columnar::Field> fields);

}  // namespace strand::sql
