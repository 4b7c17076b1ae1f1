// The contracts of a source: which shards there are, and how one is read.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/shard.h"
#include "base/status.h"
#include "columnar/batch.h"

namespace strand::flow {

using columnar::Batch;

/// The columns of T$bad: shard STRING, shard_position BIGINT, payload BYTES, reason STRING, read_at
/// TIMESTAMP_LTZ(3).
columnar::SchemaPtr bad_schema();

/// What one call of `poll` found.
struct Polled {
  enum class Kind : uint8_t {
    kRows,     // `batch` and `bad` are of `shard`, whose position is behind them
    kNothing,  // nothing to read until `until` at the latest
    kEnded,    // every shard that was assigned has ended; others may be assigned later
  };
  Kind kind = Kind::kNothing;
  size_t shard = 0;  // index in the order of assignment
  Batch batch;
  /// Records that did not parse, in the columns of bad_schema(); nothing if there are none or nobody wants
  /// them.
  std::optional<Batch> bad;
  int64_t records = 0;  // records of the shard in this poll, good and bad
  WallTime until = WallTime::never();
  bool behind = false;  // kNothing: records that are there may not have arrived yet
};

/// Finds shards. One for each source of a job, called by the job master.
class ShardFinder {
 public:
  virtual ~ShardFinder() = default;
  /// The shards that are there now, in a stable order. Shards that were found before are told again.
  virtual Result<std::vector<std::string>> find() = 0;
  /// Sets the positions of shards that nobody has read yet (empty: their first record). `late`: the job has
  /// read others before.
  virtual Status begin(std::vector<ShardState>& /*shards*/, bool /*late*/) { return Status(); }
  /// How often to look again; nothing: the set is final after the first look, and the source is bounded.
  virtual std::optional<Duration> interval() const = 0;
};

/// Reads the shards that were assigned to it. Belongs to one task. `poll` does a bounded amount of work and
/// does not wait. Rows of one shard keep their order; each poll gives rows of one shard only, so that
/// watermarks can be made per shard.
class SourceReader {
 public:
  virtual ~SourceReader() = default;
  virtual Status assign(const ShardState& shard) = 0;
  virtual Result<Polled> poll(WallTime now) = 0;
  virtual size_t shards() const = 0;
  /// Behind the last record that poll has returned of this shard.
  virtual ShardState state(size_t shard) const = 0;
  virtual bool ended(size_t shard) const = 0;
  /// No rows of the shard are wanted for a while, or again. A reader of one shard is not polled then and need
  /// not know.
  virtual void pause(size_t /*shard*/, bool /*paused*/) {}
  /// The barrier of the epoch has passed: what `state` says of each shard belongs to it.
  virtual void passed(Epoch /*epoch*/) {}
  /// Checkpoint `epoch` is complete. May never come, or come for a later epoch only.
  virtual void committed(Epoch /*epoch*/) {}
  /// What reading waits for outside of the job, for people; empty: nothing.
  virtual std::string waits_for() const { return {}; }
};

}  // namespace strand::flow
