#include "state/cold_records.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "base/check.h"

namespace strand::state {

namespace {
constexpr int64_t kRecordOverhead = 64;   // in the table of records
constexpr uint32_t kNothingBytes = 8192;  // of the body: more than there are columns
}  // namespace

void ChunkBytes::move_to(std::shared_ptr<const SpillBlock> block) {
  const std::lock_guard lock(mutex_);
  block_ = std::move(block);
  memory_.reset();
}

std::shared_ptr<const char> ChunkBytes::memory() const {
  const std::lock_guard lock(mutex_);
  return memory_;
}

/// However much there is besides, a quarter: or each row would be read from the disk.
int64_t ColdRecords::most() const {
  const int64_t share = space_.share();
  return std::max(share - beside_, share / 4);
}

const char* ColdRecords::nothing() {
  static const auto record = [] {
    std::array<char, 2 * kNothingBytes> bytes{};
    std::memcpy(bytes.data() + sizeof(uint32_t), &kNothingBytes, sizeof kNothingBytes);  // see RowLog
    return bytes;
  }();
  return record.data();
}

const char* ColdRecords::lose(Status why) {
  lost_ = true;
  space_.lose(std::move(why));
  return nothing();
}

const char* ColdRecords::find(uint64_t place) {
  if (lost_) return nothing();
  if (const auto known = young_.by_place.find(place); known != young_.by_place.end())
    return known->second.first.get();
  const auto known = old_.by_place.find(place);
  if (known == old_.by_place.end()) return nullptr;
  auto [bytes, size] = std::move(known->second);
  old_.by_place.erase(known);
  old_.bytes -= static_cast<int64_t>(size) + kRecordOverhead;
  return keep(place, std::move(bytes), size);
}

const char* ColdRecords::keep(uint64_t place, std::unique_ptr<char[]> bytes, size_t size) {
  const char* const at = bytes.get();
  young_.by_place.emplace(place, std::pair(std::move(bytes), size));
  young_.bytes += static_cast<int64_t>(size) + kRecordOverhead;
  return at;
}

const char* ColdRecords::read(uint64_t place, const ChunkBytes& chunk, size_t from, size_t until,
                              const std::function<size_t(const char*)>& size_of) {
  const size_t guessed = std::min(guess_, until - from);
  scratch_.resize(guessed);
  if (Status status = chunk.read(from, guessed, scratch_.data()); !status.ok())
    return lose(std::move(status));
  const size_t size = size_of(scratch_.data());
  STRAND_CHECK(from + size <= until);
  auto bytes = std::make_unique_for_overwrite<char[]>(size);
  std::memcpy(bytes.get(), scratch_.data(), std::min(size, guessed));
  if (size > guessed) {
    Status status = chunk.read(from + guessed, size - guessed, bytes.get() + guessed);
    if (!status.ok()) return lose(std::move(status));
  }
  guess_ = std::max(kLeastRead, size);
  return keep(place, std::move(bytes), size);
}

void ColdRecords::turn() {
  old_ = std::exchange(young_, {});
  if (records_most() == 0) old_ = {};
}

}  // namespace strand::state
