#include "state/row_bunch.h"

#include <numeric>
#include <span>
#include <utility>

#include "base/check.h"
#include "columnar/key_parts.h"

namespace strand::state {

void RowBunch::add(const columnar::Batch& batch) {
  STRAND_CHECK(!is_full());
  batches_->push_back(batch);
  bytes_ += batch.memory_bytes();
  ++count_;
}

/// Batch by batch, and there column by column.
void RowBunch::encode(const Batches& batches, const std::vector<Place>& rows, std::vector<uint32_t>& ends,
                      std::string& bytes) {
  std::vector<uint32_t> positions;
  std::vector<size_t> sizes;
  std::vector<char*> to;
  ends.push_back(0);
  for (size_t from = 0, until = 0; from < rows.size(); from = until) {
    positions.clear();
    for (; until < rows.size() && rows[until].batch == rows[from].batch; ++until)
      positions.push_back(rows[until].row);
    const columnar::Batch& batch = batches[rows[from].batch];
    sizes.assign(positions.size(), 0);
    for (const auto& column : batch.columns()) columnar::add_key_sizes(*column, positions, sizes);
    size_t at = bytes.size();
    bytes.resize(at + std::accumulate(sizes.begin(), sizes.end(), size_t{0}));
    STRAND_CHECK(bytes.size() <= UINT32_MAX);
    to.clear();
    for (const size_t size : sizes) {
      to.push_back(bytes.data() + at);
      at += size;
      ends.push_back(static_cast<uint32_t>(at));
    }
    for (const auto& column : batch.columns()) columnar::put_keys(*column, positions, to);
  }
}

Status RowBunch::spill(SpillBlocks& blocks, std::vector<Place> rows, uint64_t base) {
  std::vector<uint32_t> ends;
  ends.reserve(rows.size() + 1);
  std::string bytes;
  encode(*batches_, rows, ends, bytes);
  STRAND_TRY(auto block, blocks.put(bytes));
  cold_.move_to(std::move(block));
  ends_ = std::move(ends);
  base_ = base;
  in_memory_ = nullptr;
  const std::lock_guard lock(mutex_);
  batches_.reset();
  return Status();
}

std::shared_ptr<const RowBunch::Batches> RowBunch::batches() const {
  const std::lock_guard lock(mutex_);
  return batches_;
}

Result<std::string> RowBunch::read() const {
  std::string bytes(ends_.back(), '\0');
  STRAND_OK(cold_.read(0, bytes.size(), bytes.data()));
  return bytes;
}

}  // namespace strand::state
