// Batches of which a table keeps rows, in memory or on the local disk.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "columnar/batch.h"
#include "state/cold_records.h"

namespace strand::state {

/// Some batches that came one after the other, and the rows of them that a slice of an IntervalTable keeps.
///
/// They are in memory as they came until they are spilled: then the rows lie on the local disk one after the
/// other, each in the form of columnar::encode_key over all columns, in which snapshots have it, too. The
/// owner's thread adds and spills; a snapshot reads on another thread, and lives as long as either.
class RowBunch {
 public:
  static constexpr uint32_t kBatchesMax = 64;
  /// Bytes of batches from which the next one begins another bunch.
  static constexpr int64_t kFullBytes = int64_t{256} << 10;

  /// A row of a batch of this bunch.
  struct Place {
    uint32_t batch;
    uint32_t row;  // physical
  };
  using Batches = std::vector<columnar::Batch>;

  /// `first_row`: how many rows of the slice are in earlier bunches.
  explicit RowBunch(size_t first_row) : first_row_(first_row) {
    batches_->reserve(kBatchesMax);  // so that they stay where they are
    in_memory_ = batches_->data();
  }

  // ---- on the owner's thread
  bool is_full() const { return count_ == kBatchesMax || bytes_ >= kFullBytes || in_memory_ == nullptr; }
  /// Requires !is_full().
  void add(const columnar::Batch& batch);
  uint32_t count() const { return count_; }
  /// Null from when they are spilled.
  const columnar::Batch* in_memory() const { return in_memory_; }
  int64_t bytes() const { return bytes_; }
  size_t first_row() const { return first_row_; }
  /// Hands over `rows`, which are all that will ever be asked for. `base`: a number of its own for each byte
  /// of the owner's cold rows. Errors: kDiskFull, kIo; the batches are in memory then.
  Status spill(SpillBlocks& blocks, std::vector<Place> rows, uint64_t base);
  uint64_t base() const { return base_; }
  /// Where a row lies among the bytes of a spilled bunch.
  uint32_t begin_of(size_t row) const { return ends_[row - first_row_]; }
  uint32_t end_of(size_t row) const { return ends_[row - first_row_ + 1]; }
  const ChunkBytes& cold() const { return cold_; }
  int64_t index_bytes() const { return static_cast<int64_t>(ends_.size() * sizeof(uint32_t)); }

  // ---- on any thread
  /// Null if they are spilled.
  std::shared_ptr<const Batches> batches() const;
  /// All rows of a spilled bunch. Error: kIo.
  Result<std::string> read() const;

 private:
  static void encode(const Batches& batches, const std::vector<Place>& rows, std::vector<uint32_t>& ends,
                     std::string& bytes);

  const size_t first_row_;
  uint32_t count_ = 0;
  int64_t bytes_ = 0;
  const columnar::Batch* in_memory_ = nullptr;
  uint64_t base_ = 0;
  ChunkBytes cold_{nullptr};
  std::vector<uint32_t> ends_;  // of spilled rows; the first is 0
  mutable std::mutex mutex_;    // of batches_, behind which the members above do not change
  std::shared_ptr<Batches> batches_ = std::make_shared<Batches>();
};

}  // namespace strand::state
