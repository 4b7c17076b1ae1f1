// A job under construction.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "plan/plan.h"
#include "strandline/job.h"

namespace strand::api {

/// The side outputs of a function that somebody reads, by tag. Shared by the node and its operators.
struct SideOutputs {
  struct Side {
    size_t port;
    const strandline::detail::RowType* type;
  };
  std::map<std::string, Side> by_tag;
};

}  // namespace strand::api

namespace strandline::detail {

struct StreamNode {
  std::shared_ptr<strand::plan::Node> node;
  std::shared_ptr<strand::api::SideOutputs> sides = nullptr;  // of functions
};

struct JobState {
  std::string name;
  std::map<std::string, strand::plan::Setting> settings;
  std::vector<strand::plan::NodePtr> sinks;
  std::map<std::string, int> ordinals;
  std::map<std::string, TakeBatch> takers;
  strand::Status error;

  void fail(strand::Status status) {
    if (error.ok()) error = std::move(status);
  }
  /// A node with an automatic id: kind and ordinal among its kind.
  std::shared_ptr<StreamNode> add(strand::plan::Detail detail, std::vector<strand::plan::Input> inputs,
                                  strand::columnar::SchemaPtr output);
};

}  // namespace strandline::detail

namespace strand::api {

/// Runs `make`; where it fails, the job keeps the error and the stream stays as `fallback`.
template <class Make>
std::shared_ptr<strandline::detail::StreamNode> build(
    strandline::detail::JobState& job, std::shared_ptr<strandline::detail::StreamNode> fallback,
    Make&& make) {
  if (!job.error.ok()) return fallback;
  Result<std::shared_ptr<strandline::detail::StreamNode>> made = make();
  if (made.ok()) return *std::move(made);
  job.fail(made.status());
  return fallback;
}

columnar::SchemaPtr schema_of(const strandline::detail::Handle& stream);
Result<size_t> find_column(const columnar::Schema& schema, const std::string& name);

}  // namespace strand::api
