// The flush: after a restore, undoes what the store holds of the undone past (replay.md, F1-F6).
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "connect/table/history.h"
#include "connect/table/rows.h"
#include "connect/table/rules.h"
#include "connect/table/store.h"

namespace strand::connect::table {

/// Plans which values of one writer's subtask must be visited, and makes the requests for them.
///
/// A dead value is rewritten where restored state holds it and removed elsewhere; each request is a
/// compare-and-set on the tag that was listed, so it does no harm when somebody has written since, and the
/// whole can be repeated after a crash: nothing remembers that it was done. A value that was deleted has left
/// no tag to be found by: if the writer has deleted since the restored epoch, held values without a tag are
/// written again.
///
/// Belongs to the sink's lane.
class Flush {
 public:
  Flush(const WriterSpec& spec, const flow::SinkStart& start, const Rules& rules);

  const RestoreHistory& history() const { return history_; }
  /// A value that restored state holds. kInternal if the key is another subtask's.
  Status hold(const BatchPtr& rows);
  void plan(const Listing& listing);
  /// F7: the same for what requests of the dead have done since; a deletion among them has left its tag.
  void plan_sweep(const Listing& listing);
  int64_t planned() const { return static_cast<int64_t>(visits_.size()); }
  bool done() const { return next_ == visits_.size(); }
  /// Requests for the next `rows` visits; `advance` when they are acknowledged.
  std::vector<Request> next(size_t rows) const;
  void advance(size_t rows) { next_ += rows; }

 private:
  struct Held {
    BatchPtr batch;
    int64_t row = 0;
  };
  struct Visit {
    std::string key;
    std::optional<WriteTag> tag;
  };
  void plan_dead(std::span<const Tagged> values);
  void plan_deleted(const Listing& listing);
  Request request(const Visit& visit, const BatchPtr& keys, int64_t row) const;

  columnar::SchemaPtr key_schema_;
  std::vector<size_t> key_columns_;
  KeyShare share_;
  Rules rules_;
  WriteTag tag_;  // (g, a, c, 0)
  RestoreHistory history_;
  std::unordered_map<std::string, Held> held_;  // only looked up: its order decides nothing
  std::vector<std::string> held_order_;
  std::vector<Visit> visits_;
  size_t next_ = 0;
};

}  // namespace strand::connect::table
