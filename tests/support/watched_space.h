// A spill space for tests: it counts what is read of logs, and its reads fail when told to.
#pragma once

#include <limits>
#include <memory>
#include <utility>

#include "state/spill/memory_spill.h"

namespace strand::testing {

/// In memory; belongs to one thread.
class WatchedSpace : public state::SpillSpace {
 public:
  explicit WatchedSpace(int64_t table_bytes)
      : SpillSpace(table_bytes), inner_(state::make_memory_space(table_bytes)) {}

  int64_t reads() const { return reads_; }
  /// Of logs, from now on or behind the next `more`.
  void fail_reads(int64_t more = 0) { fails_from_ = reads_ + more; }

  Result<std::shared_ptr<state::SpillStore>> open(state::SpillUse use) override {
    return inner_->open(std::move(use));
  }
  Result<std::unique_ptr<state::SpillBlocks>> open_blocks() override {
    STRAND_TRY(auto blocks, inner_->open_blocks());
    return std::unique_ptr<state::SpillBlocks>(std::make_unique<Blocks>(*this, std::move(blocks)));
  }
  state::SpillDisk disk() const override { return inner_->disk(); }

 private:
  class Block : public state::SpillBlock {
   public:
    Block(WatchedSpace& space, std::shared_ptr<const state::SpillBlock> inner)
        : space_(space), inner_(std::move(inner)) {}
    Status read(size_t from, size_t size, char* into) const override {
      if (space_.reads_++ >= space_.fails_from_)
        return Status(ErrorCode::kIo, "/local/1.log: the disk does not answer");
      return inner_->read(from, size, into);
    }

   private:
    WatchedSpace& space_;
    std::shared_ptr<const state::SpillBlock> inner_;
  };
  class Blocks : public state::SpillBlocks {
   public:
    Blocks(WatchedSpace& space, std::unique_ptr<state::SpillBlocks> inner)
        : space_(space), inner_(std::move(inner)) {}
    Result<std::shared_ptr<const state::SpillBlock>> put(std::string_view bytes) override {
      STRAND_TRY(auto block, inner_->put(bytes));
      return std::shared_ptr<const state::SpillBlock>(std::make_shared<Block>(space_, std::move(block)));
    }

   private:
    WatchedSpace& space_;
    std::unique_ptr<state::SpillBlocks> inner_;
  };

  std::unique_ptr<state::SpillSpace> inner_;
  int64_t reads_ = 0;
  int64_t fails_from_ = std::numeric_limits<int64_t>::max();
};

}  // namespace strand::testing
