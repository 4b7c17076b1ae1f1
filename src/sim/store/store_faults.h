// What can go wrong with a call of a simulated store.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace strand::sim {

/// The steps of both sink protocols that talk to a store.
enum class StoreCall : uint8_t { kOpen, kClaim, kList, kFlush, kWrite, kMarkers, kCommit };
inline constexpr size_t kStoreCalls = 7;
std::string_view store_call_name(StoreCall call);

enum class StoreFault : uint8_t {
  kNone,
  kUnavailable,  // nothing happens; the call says kSinkUnavailable
  kLostAnswer,   // it happens; the call says kSinkUnavailable
  kDelayed,      // it is still on its way; the call says kSinkUnavailable
  kCopied,       // it happens, and a copy is still on its way
  kCrashBefore,  // the process dies; nothing has happened
  kCrashAfter,   // the process dies; it has happened
};
inline constexpr size_t kStoreFaults = 7;
std::string_view store_fault_name(StoreFault fault);
/// Whether a fault can hit the call: only writes can be under way.
bool can_hit(StoreFault fault, StoreCall call);

/// A call about to be made. `nth` counts all calls from 1.
struct StoreCallInfo {
  StoreCall call;
  uint64_t nth = 0;
};
using StoreFaultPlan = std::function<StoreFault(const StoreCallInfo&)>;

/// How often each step was taken and each fault hit it.
class StoreFaultCounts {
 public:
  void add(StoreCall call, StoreFault fault) {
    ++counts_[static_cast<size_t>(call)][static_cast<size_t>(fault)];
  }
  int64_t of(StoreCall call, StoreFault fault) const {
    return counts_[static_cast<size_t>(call)][static_cast<size_t>(fault)];
  }
  StoreFaultCounts& operator+=(const StoreFaultCounts& other);

 private:
  std::array<std::array<int64_t, kStoreFaults>, kStoreCalls> counts_{};
};

}  // namespace strand::sim
