// The `filesystem` connector as a sink.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "codec/record_decoder.h"
#include "connect/file/options.h"
#include "connect/file/partition_commit.h"
#include "connect/file/partitions.h"
#include "connect/file/sink_folder.h"
#include "connect/registry.h"
#include "flow/sink.h"
#include "obs/memory.h"

namespace strand::connect::file {

/// Writes rows as lines of files that show whole epochs only (transaction mode, replay.md X1 to X3).
///
/// Rows are encoded when they come and held back. A barrier seals them: from then on they are part of each
/// checkpoint, and when theirs is complete they are committed (SinkFolder) in the background. So a crash
/// loses nothing and doubles nothing: what was not committed is in the checkpoint, and what was committed
/// twice is found by its marker. Commits of all subtasks of a sink share one executor lane.
///
/// Rows of a table with partitions go into a file for each of them; behind the commit, those that are
/// complete are marked (PartitionCommits).
class FileSink final : public flow::Sink {
 public:
  FileSink(const TableContext& table, FileOptions options, std::unique_ptr<codec::RecordEncoder> encoder,
           Partitions partitions = {}, CommitRules rules = {});
  Status check(const flow::SinkStart& start) override;
  Status start(const flow::SinkStart& start) override;
  Status held(const flow::Batch&) override { return Status(); }
  Status held_end() override { return Status(); }
  Status write(const flow::Batch& rows, flow::WriteTag tag) override;
  Result<bool> busy() override;
  Status before_barrier() override { return Status(); }
  /// Rows need no acknowledgement before the barrier: they travel in the checkpoint.
  Result<bool> drained() override;
  void reached(EventTime watermark) override { commits_.reached(watermark); }
  Status snapshot(Epoch epoch, state::SnapshotBuilder& out) override;
  Status committed(Epoch epoch) override;
  Result<bool> close() override;
  flow::SinkCounts counts() const override;

 private:
  struct Shared;
  SinkFolder folder_of(const flow::SinkStart& start) const;
  void forget_committed();
  Status restore(const state::Section& section, std::vector<SealedEpoch>& sealed);
  void submit(Epoch epoch, std::vector<SealedEpoch> sealed, std::vector<std::string> complete);
  int64_t held_bytes() const;

  std::string table_;
  std::string writer_;
  FileOptions options_;
  env::Env env_;
  std::unique_ptr<codec::RecordEncoder> encoder_;
  obs::MemoryShare memory_;
  int32_t subtask_ = 0;
  Generation generation_{1};
  uint64_t lane_ = 0;
  std::shared_ptr<Shared> shared_;
  Partitions partitions_;
  PartitionCommits commits_;
  struct Open {
    std::string bytes;
    int64_t rows = 0;
  };
  std::map<std::string, Open> open_;  // encoded rows since the last barrier, by partition
  int64_t open_rows_ = 0;
  std::deque<SealedEpoch> sealed_;  // not known to be committed, oldest first
  Epoch submitted_{0};
  bool told_end_ = false;
  int64_t rows_in_ = 0;
};

/// The section of a checkpoint that holds sealed epochs.
std::string encode_sealed(const std::vector<SealedEpoch>& sealed);
Result<std::vector<SealedEpoch>> decode_sealed(std::string_view bytes);

}  // namespace strand::connect::file
