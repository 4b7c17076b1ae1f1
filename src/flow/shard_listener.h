// What an operator is told of the shards behind the rows that it gets.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/ids.h"

namespace strand::flow {

/// An operator in the task of a source that treats the rows of each shard by themselves. Only steps that keep
/// nothing back may stand between. Calls come from the task, between those of the operator, and must not
/// emit: what they lead to goes out with the next wakeup. Shards are numbered as they begin.
class ShardListener {
 public:
  virtual ~ShardListener() = default;
  /// `held_since`: the task cannot read for now.
  virtual void shard_begins(std::string name, std::optional<WallTime> held_since) = 0;
  /// The shard was read; the rows that come until the next call are its own.
  virtual void shard_reads(size_t shard) = 0;
  virtual void shard_ends(size_t shard) = 0;
  /// The reader has no shard, or has one again.
  virtual void without_shards(bool none) = 0;
  /// Nothing can be read: no shard grows silent meanwhile. Calls nest.
  virtual void pause(WallTime now) = 0;
  virtual void resume(WallTime now) = 0;
};

}  // namespace strand::flow
