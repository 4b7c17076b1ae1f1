#include "sim/env/faults.h"

#include <numeric>
#include <vector>

namespace strand::sim {

std::string_view call_name(Call call) {
  constexpr std::array<std::string_view, kCalls> kNames = {
      "open_read", "read",       "size",      "create",   "open_append", "append", "sync", "close", "rename",
      "remove",    "remove_all", "make_dirs", "sync_dir", "list",        "stat",   "lock", "clock", "submit"};
  return kNames[static_cast<size_t>(call)];
}

std::string_view fault_name(Fault fault) {
  constexpr std::array<std::string_view, kFaults> kNames = {"none",  "io error", "disk full", "torn write",
                                                            "crash", "slow",     "jump"};
  return kNames[static_cast<size_t>(fault)];
}

bool can_hit(Fault fault, Call call) {
  switch (fault) {
    case Fault::kNone:
      return true;
    case Fault::kIoError:
    case Fault::kCrash:
      return call != Call::kClock && call != Call::kSubmit;
    case Fault::kDiskFull:
      return call == Call::kCreate || call == Call::kOpenAppend || call == Call::kAppend ||
             call == Call::kSync || call == Call::kRename || call == Call::kMakeDirs || call == Call::kLock;
    case Fault::kTornWrite:
      return call == Call::kAppend;
    case Fault::kSlow:
      return call == Call::kSubmit;
    case Fault::kJump:
      return call == Call::kClock;
  }
  return false;
}

std::span<const Fault> faults_of(Call call) {
  static const auto kTable = [] {
    std::array<std::vector<Fault>, kCalls> table;
    for (size_t c = 0; c < kCalls; ++c) {
      for (size_t f = 1; f < kFaults; ++f) {
        if (can_hit(static_cast<Fault>(f), static_cast<Call>(c))) table[c].push_back(static_cast<Fault>(f));
      }
    }
    return table;
  }();
  return kTable[static_cast<size_t>(call)];
}

FaultPlan crash_at(uint64_t nth) { return fail_at(nth, Fault::kCrash); }

FaultPlan fail_at(uint64_t nth, Fault fault) {
  return [nth, fault](const CallInfo& info) { return info.nth == nth ? fault : Fault::kNone; };
}

uint64_t FaultCounts::faults(Call call) const {
  const auto& of_call = faults_[index(call)];
  return std::accumulate(of_call.begin() + 1, of_call.end(), uint64_t{0});
}

uint64_t FaultCounts::calls() const { return std::accumulate(calls_.begin(), calls_.end(), uint64_t{0}); }

FaultCounts& FaultCounts::operator+=(const FaultCounts& other) {
  for (size_t c = 0; c < kCalls; ++c) {
    calls_[c] += other.calls_[c];
    for (size_t f = 0; f < kFaults; ++f) faults_[c][f] += other.faults_[c][f];
  }
  return *this;
}

}  // namespace strand::sim
