// Which call of the environment fails, how, and how often each has.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>

namespace strand::sim {

/// Every call of env::FileSystem, ReadFile and WriteFile; time and the executor as far as they can go wrong.
enum class Call : uint8_t {
  kOpenRead,
  kRead,
  kSize,
  kCreate,
  kOpenAppend,
  kAppend,
  kSync,
  kClose,
  kRename,
  kRemove,
  kRemoveAll,
  kMakeDirs,
  kSyncDir,
  kList,
  kStat,
  kLock,
  kClock,   // the wall clock is read
  kSubmit,  // a work is handed to the executor
};
inline constexpr size_t kCalls = 18;
std::string_view call_name(Call call);

enum class Fault : uint8_t {
  kNone,
  kIoError,    // nothing happens; the call says kIo. A sync that fails also loses what it should have made
               // durable
  kDiskFull,   // a prefix of the bytes lands; the call says kDiskFull
  kTornWrite,  // a prefix of the bytes lands; the call says kIo
  kCrash,      // the process dies inside: the effect is there, not there, or there in part
  kSlow,       // a work becomes ready later
  kJump,       // the wall clock jumps
};
inline constexpr size_t kFaults = 7;
std::string_view fault_name(Fault fault);
/// Whether the fault can hit the call at all: a disk cannot be full for a read.
bool can_hit(Fault fault, Call call);
/// The faults that can hit the call, kNone not among them.
std::span<const Fault> faults_of(Call call);

/// A call about to be made. `nth` counts all calls from 1, `nth_of_kind` those of its kind.
struct CallInfo {
  Call call;
  std::string_view path;  // or empty
  uint64_t nth = 0;
  uint64_t nth_of_kind = 0;
};

/// Decides what happens to a call. It must follow from the arguments and the plan's own seed alone. Answers
/// that cannot hit the call count as kNone.
using FaultPlan = std::function<Fault(const CallInfo&)>;

/// The plan that crashes at the n-th call of all, and at no other.
FaultPlan crash_at(uint64_t nth);
/// The plan that lets the n-th call of all fail with `fault`, where that fault can hit it.
FaultPlan fail_at(uint64_t nth, Fault fault);

/// How often each call was made and each fault hit it: the summary table of a simulation.
class FaultCounts {
 public:
  void add_call(Call call) { ++calls_[index(call)]; }
  void add_fault(Call call, Fault fault) { ++faults_[index(call)][static_cast<size_t>(fault)]; }
  uint64_t calls(Call call) const { return calls_[index(call)]; }
  uint64_t faults(Call call, Fault fault) const { return faults_[index(call)][static_cast<size_t>(fault)]; }
  /// Faults of any kind.
  uint64_t faults(Call call) const;
  uint64_t calls() const;
  FaultCounts& operator+=(const FaultCounts& other);

 private:
  static size_t index(Call call) { return static_cast<size_t>(call); }
  std::array<uint64_t, kCalls> calls_{};
  std::array<std::array<uint64_t, kFaults>, kCalls> faults_{};
};

}  // namespace strand::sim
