// How far a partition has been read, as a checkpoint holds it.
#pragma once

#include <optional>
#include <string>

#include "base/shard.h"
#include "base/status.h"
#include "connect/kafka/client.h"

namespace strand::connect::kafka {

/// `{"offset": 12}`, `{"offset": 12, "stop": 100}`. `next` is behind the last record that was read, or
/// RD_KAFKA_OFFSET_BEGINNING where none was and the partition is read from what it holds first. `stop`, if
/// there is one, was fixed when the partition was found: a restart ends where the first run would have.
struct Position {
  int64_t next = RD_KAFKA_OFFSET_BEGINNING;
  std::optional<int64_t> stop;

  std::string text() const;
  /// kCheckpointUnreadable. Empty text: from the first record on.
  static Result<Position> parse(const ShardState& shard);
  bool at_stop() const { return stop && (next >= *stop || *stop == 0); }
};

/// The partition that a shard's name tells.
struct PartitionName {
  std::string topic;
  int32_t partition = 0;
  static Result<PartitionName> parse(const std::string& shard);
};

}  // namespace strand::connect::kafka
