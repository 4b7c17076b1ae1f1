#include "sim/store/store_faults.h"

namespace strand::sim {

std::string_view store_call_name(StoreCall call) {
  constexpr std::array<std::string_view, kStoreCalls> kNames = {"open",  "claim",   "list",  "flush",
                                                                "write", "markers", "commit"};
  return kNames[static_cast<size_t>(call)];
}

std::string_view store_fault_name(StoreFault fault) {
  constexpr std::array<std::string_view, kStoreFaults> kNames = {
      "none", "unavailable", "lost answer", "delayed", "copied", "crash before", "crash after"};
  return kNames[static_cast<size_t>(fault)];
}

bool can_hit(StoreFault fault, StoreCall call) {
  if (fault != StoreFault::kDelayed && fault != StoreFault::kCopied) return true;
  return call == StoreCall::kFlush || call == StoreCall::kWrite || call == StoreCall::kCommit;
}

StoreFaultCounts& StoreFaultCounts::operator+=(const StoreFaultCounts& other) {
  for (size_t call = 0; call < kStoreCalls; ++call) {
    for (size_t fault = 0; fault < kStoreFaults; ++fault) counts_[call][fault] += other.counts_[call][fault];
  }
  return *this;
}

}  // namespace strand::sim
