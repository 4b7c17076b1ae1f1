// When a partition that is written is complete, and what tells so.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "connect/registry.h"
#include "expr/date_pattern.h"
#include "expr/zone.h"

namespace strand::connect::file {

/// The options `sink.partition-commit.*` and `partition.time-extractor.*`, by Flink's names.
struct CommitRules {
  std::string success_file;        // put into a partition that is complete; empty: nothing is
  bool by_partition_time = false;  // else by the wall clock
  Duration delay{0};
  expr::Zone zone;                               // of the times in names of folders
  std::string time_pattern;                      // `$day $hour:00:00`; empty: the first column
  std::optional<expr::DatePattern> time_format;  // of that text
  std::vector<std::string> keys;

  /// kBadOption, kUnsupportedSql.
  static Result<CommitRules> read(const TableContext& table);
  /// The beginning of a partition. kBadValue.
  Result<EventTime> time_of(const std::string& partition) const;
};

/// The partitions with rows that nobody has been told of. One is due, as in Flink, when a checkpoint
/// completes behind its time: `delay` after the first of its rows were shown, or when the watermark of that
/// checkpoint is `delay` past the partition's beginning. Rows that come for it later make it due again.
/// Belongs to the sink's task; what is not acknowledged is part of each checkpoint, so a crash tells twice,
/// never not at all.
class PartitionCommits {
 public:
  explicit PartitionCommits(CommitRules rules) : rules_(std::move(rules)) {}

  bool active() const { return !rules_.success_file.empty(); }
  const std::string& success_file() const { return rules_.success_file; }
  /// Before rows of the partition are kept. kBadValue for a name without a time.
  Status check(const std::string& partition) const {
    if (!active() || !rules_.by_partition_time) return Status();
    const Result<EventTime> time = rules_.time_of(partition);
    return time.ok() ? Status() : time.status();
  }
  /// Rows of the partition are shown at `now`. One without a time, of a job that was otherwise, waits for the
  /// end.
  void add(const std::string& partition, WallTime now);
  void reached(EventTime watermark) { watermark_ = watermark; }
  /// No row comes any more: everything is due.
  bool ended() const { return watermark_ == EventTime::max(); }
  void barrier(Epoch epoch) {
    if (active()) watermarks_[epoch] = watermark_;
  }
  /// Those that are due now that `epoch` is complete; they stay known until `told(epoch)`.
  std::vector<std::string> take_due(Epoch epoch, WallTime now);
  void told(Epoch epoch);

  std::string encode() const;
  /// kCheckpointUnreadable.
  Status restore(std::string_view bytes);

 private:
  struct Pending {
    WallTime since;
    EventTime time = EventTime::min();
  };
  CommitRules rules_;
  std::map<std::string, Pending> pending_;
  std::map<Epoch, std::vector<std::pair<std::string, WallTime>>> telling_;
  std::map<Epoch, EventTime> watermarks_;  // of barriers whose checkpoint is not complete
  EventTime watermark_ = EventTime::min();
};

}  // namespace strand::connect::file
