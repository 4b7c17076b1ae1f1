// Reads shard files.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "codec/record_decoder.h"
#include "connect/file/input.h"
#include "connect/file/options.h"
#include "connect/file/partitions.h"
#include "connect/registry.h"
#include "flow/source.h"
#include "obs/memory.h"

namespace strand::connect::file {

/// How much one poll takes.
struct ReadLimits {
  int64_t rows = codec::DecodeOutput::kRowsMax;
  size_t buffer_bytes = 256 << 10;
  size_t poll_bytes = 8 << 20;
};

/// Reads the lines of files as records. A position is the offset behind the last record returned, in the
/// unpacked file:
/// `{"offset": 1234}`. Nothing else is remembered of a shard that matters: the bytes behind the position are
/// read again whenever they are needed, into one buffer that all shards share, and are decoded where they
/// lie.
///
/// A shard whose file may grow (a monitored table) is looked at again every 10 ms when it has no more whole
/// lines; the beginning of a line waits for its end. Otherwise a shard ends with its file, and its last line
/// needs no '\n'.
///
/// Files only grow: one that is shorter than the position is kShardShrank; one that is not there any more is
/// kShardGone, unless it disappeared while this reader had read all of it (`{"offset": 1234, "gone": true}`).
/// A record longer than strand.max-record-bytes is a bad record, and never in memory as a whole.
class FileReader final : public flow::SourceReader {
 public:
  FileReader(const TableContext& table, FileOptions options, std::unique_ptr<codec::RecordDecoder> decoder,
             Partitions partitions = {}, ReadLimits limits = {});
  Status assign(const ShardState& shard) override;
  Result<flow::Polled> poll(WallTime now) override;
  size_t shards() const override { return shards_.size(); }
  ShardState state(size_t shard) const override;
  bool ended(size_t shard) const override { return shards_[shard].ended; }
  void pause(size_t shard, bool paused) override { shards_[shard].paused = paused; }

 private:
  struct Shard {
    std::string name;
    std::string path;
    uint64_t offset = 0;
    int64_t records = 0;
    bool ended = false;
    bool paused = false;
    bool gone = false;
    std::unique_ptr<Input> input;
    std::optional<uint64_t> size_seen;  // on disk, when everything there had been read
    bool line_begun = false;            // ... and it ended inside a line
    WallTime check_at{INT64_MIN};
    std::optional<uint64_t> long_record;  // scanned so far: `offset` is in a record that is too long
    std::string long_record_start;
  };
  enum class Chunk : uint8_t { kLines, kEnd, kTooLong };

  bool growing() const { return options_.monitor_interval.has_value(); }
  Status visit(Shard& shard, WallTime now);
  Result<bool> worth_reading(Shard& shard, WallTime now);
  Status note_removal(Shard& shard, WallTime now);
  Status open(Shard& shard);
  Status read_lines(Shard& shard);
  Result<Chunk> read_chunk(Shard& shard);
  Status decode(Shard& shard, std::string_view lines);
  Status skip_long_record(Shard& shard);
  void finish_long_record(Shard& shard, uint64_t end, uint64_t next);
  Status at_end(Shard& shard, std::string_view line_begun);
  void close(Shard& shard);
  Result<flow::Polled> take(size_t index, WallTime now);
  Status too_long_error(const Shard& shard, const codec::BadRecord& record) const;
  Status at_shard(Status status, const Shard& shard) const;
  void resize_buffer(size_t size);
  size_t bytes_wanted() const;

  std::string table_;
  FileOptions options_;
  env::FileSystem& files_;
  obs::EventSink* events_;
  bool want_bad_;
  ReadLimits limits_;
  std::unique_ptr<codec::RecordDecoder> decoder_;
  Partitions partitions_;
  codec::DecodeOutput out_;
  std::vector<Shard> shards_;
  std::optional<bool> path_is_dir_;
  size_t next_ = 0;
  std::unique_ptr<char[]> buffer_;
  size_t buffer_size_ = 0;
  // What is in the buffer, from the visited shard's offset on.
  size_t filled_ = 0;
  size_t whole_ = 0;                     // of it in whole lines
  std::optional<uint64_t> too_long_at_;  // the newest record that was
  size_t poll_bytes_ = 0;                // consumed in this poll
  std::optional<uint64_t> disk_size_;    // of the visited shard before it was read; nothing: not there
  double record_bytes_ = 256;            // mean of the last poll
  obs::MemoryShare memory_;
};

}  // namespace strand::connect::file
