// What a log has on the local disk, as far as it is in memory.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

#include "base/status.h"
#include "state/spill/spill.h"

namespace strand::state {

/// The bytes of a chunk of a log: in memory, and from some time on in a spill space. The log's thread moves
/// them; any thread reads them.
class ChunkBytes {
 public:
  explicit ChunkBytes(std::shared_ptr<const char> memory) : memory_(std::move(memory)) {}

  void move_to(std::shared_ptr<const SpillBlock> block);
  /// Null where they have been moved.
  std::shared_ptr<const char> memory() const;
  /// Of bytes that have been moved. Error: kIo.
  Status read(size_t from, size_t size, char* into) const { return block_->read(from, size, into); }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const char> memory_;
  std::shared_ptr<const SpillBlock> block_;
};

/// Records of one log that were read from the local disk, by their place in the log. They stay until
/// `let_go`, and then as many of those that were read last as there is room for. Belongs to one log, which is
/// one of the tables that share the memory of the space.
///
/// Where a read fails, the space is told (`SpillSpace::lose`), and from then on every record is `nothing`, so
/// that the row at hand comes to its end: a body of zeros, which decodes to NULLs.
class ColdRecords {
 public:
  ColdRecords(SpillSpace& space, std::unique_ptr<SpillBlocks> blocks)
      : space_(space), blocks_(std::move(blocks)) {
    space_.join();
  }
  ~ColdRecords() { space_.leave(); }
  ColdRecords(const ColdRecords&) = delete;
  ColdRecords& operator=(const ColdRecords&) = delete;

  SpillBlocks& blocks() { return *blocks_; }
  const SpillSpace& space() const { return space_; }
  /// Bytes of the log that memory may hold, where its owner has `beside` besides: what it has read, and its
  /// end.
  int64_t records_most() const { return most() / 4; }
  int64_t end_most() const { return most() - records_most(); }
  void set_beside(int64_t bytes) { beside_ = bytes; }

  /// Ok while every read has succeeded.
  Status intact() const { return lost_ ? space_.intact() : Status(); }
  /// A record that was read, or null.
  const char* find(uint64_t place);
  /// Instead of a record that cannot be read.
  static const char* nothing();
  /// Reads the record at `from`, of which the chunk has no more than until - from bytes; `size_of` tells its
  /// size by its first bytes.
  const char* read(uint64_t place, const ChunkBytes& chunk, size_t from, size_t until,
                   const std::function<size_t(const char* head)>& size_of);
  void let_go() {
    if (young_.bytes > records_most() / 2) turn();
  }
  int64_t bytes() const { return young_.bytes + old_.bytes; }

 private:
  struct Records {
    std::unordered_map<uint64_t, std::pair<std::unique_ptr<char[]>, size_t>> by_place;
    int64_t bytes = 0;
  };
  int64_t most() const;
  const char* keep(uint64_t place, std::unique_ptr<char[]> bytes, size_t size);
  void turn();
  const char* lose(Status why);

  SpillSpace& space_;
  std::unique_ptr<SpillBlocks> blocks_;
  int64_t beside_ = 0;
  bool lost_ = false;
  Records young_;  // read since the last turn
  Records old_;
  std::string scratch_;
  size_t guess_ = kLeastRead;  // bytes of a record
  static constexpr size_t kLeastRead = 256;
};

}  // namespace strand::state
