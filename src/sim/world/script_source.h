// A source whose rows become readable at given instants of the wall clock.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec/record_decoder.h"
#include "connect/registry.h"

namespace strand::sim {

/// Rows of several shards, each readable from an instant on. Shared by the attempts of a job, like a stream
/// that keeps its records. One thread.
class Script {
 public:
  struct Record {
    WallTime readable;
    std::string line;  // JSON
  };
  /// Records of a shard must be added in the order in which they become readable.
  void add(const std::string& shard, WallTime readable, std::string line);
  /// A shard without records.
  void add_shard(const std::string& shard) { shards_[shard]; }
  const std::map<std::string, std::vector<Record>>& shards() const { return shards_; }
  /// Nothing is readable before this instant, whatever the records say: how long an attempt takes to connect.
  void not_before(WallTime t) { not_before_ = t; }
  WallTime readable(const Record& record) const { return std::max(record.readable, not_before_); }
  /// Rows that one poll gives at most.
  void set_poll_rows(size_t rows) { poll_rows_ = rows; }
  size_t poll_rows() const { return poll_rows_; }
  /// No record will be added: shards end behind their last one.
  void finish() { finished_ = true; }
  bool finished() const { return finished_; }

 private:
  std::map<std::string, std::vector<Record>> shards_;
  WallTime not_before_{0};
  size_t poll_rows_ = 1;
  bool finished_ = false;
};

/// The connector `script`: reads `script` in JSON. Positions are record numbers.
connect::Connector script_connector(const std::shared_ptr<Script>& script);

}  // namespace strand::sim
