#include "state/id_index.h"

#include <cstring>

#include "base/check.h"

namespace strand::state {

IdIndex::Segment IdIndex::new_segment(uint32_t depth, uint32_t prefix) {
  char* const page = pool_.take();
  std::memset(page, 0xFF, PagePool::kPageBytes);
  return {reinterpret_cast<uint64_t*>(page), 0, depth, prefix};
}

void IdIndex::reserve(size_t keys) {
  STRAND_CHECK(used_ == 0);
  uint32_t depth = 0;
  while (depth < kDepthMax && keys >> depth > kSplitFrom) ++depth;
  if (depth <= depth_) return;
  for (const Segment& segment : segments_) pool_.give(reinterpret_cast<char*>(segment.slots));
  segments_.clear();
  directory_.clear();
  depth_ = depth;
  for (uint32_t i = 0; i < uint32_t{1} << depth; ++i) {
    segments_.push_back(new_segment(depth, i << (32 - depth)));
    directory_.push_back({segments_.back().slots, i});
  }
}

uint32_t IdIndex::prepare_split(size_t at) {
  const uint32_t depth = segments_[at].depth + 1;
  STRAND_CHECK(depth <= kDepthMax);
  if (depth > depth_) {
    std::vector<Entry> doubled;
    doubled.reserve(directory_.size() * 2);
    for (const Entry& entry : directory_) doubled.insert(doubled.end(), 2, entry);
    directory_ = std::move(doubled);
    ++depth_;
  }
  return depth;
}

void IdIndex::replace(size_t at, const Segment& by) {
  used_ += int64_t{by.used} - int64_t{segments_[at].used};
  pool_.give(reinterpret_cast<char*>(segments_[at].slots));
  segments_[at] = by;
  point_directory(at);
}

void IdIndex::add_segment(const Segment& segment) {
  used_ += segment.used;
  segments_.push_back(segment);
  point_directory(segments_.size() - 1);
}

/// The entries of a segment stand side by side.
void IdIndex::point_directory(size_t at) {
  const Segment& segment = segments_[at];
  const uint64_t first = uint64_t{segment.prefix} >> (32 - depth_);
  const uint64_t span = uint64_t{1} << (depth_ - segment.depth);
  for (uint64_t i = first; i < first + span; ++i) directory_[i] = {segment.slots, at};
}

}  // namespace strand::state
