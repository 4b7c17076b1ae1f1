// What many simulated runs came to.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "sim/world/simulation.h"

namespace strand::app {

/// Adds up runs. A run that does not count (too few rows, shards or checkpoints, or nothing hit it) is judged
/// like the others and not counted.
class SimSummary {
 public:
  void add(uint64_t seed, const std::string& job, const sim::SimulationResult& result);
  uint64_t runs() const { return runs_; }  // that count
  uint64_t not_counted() const { return not_counted_; }
  uint64_t differing() const { return differing_; }
  uint64_t first_bad() const { return first_bad_; }  // its seed
  /// With its seed; empty if nothing differs.
  std::string first_difference() const;
  void print(double seconds) const;
  /// Names every kind of job and of state with fewer runs than 500 in 20,000, and every step of the protocol,
  /// call of the environment and call of the store that fewer faults have hit than 100; fewer runs are asked
  /// for none. Returns how many there are.
  int print_gaps() const;

 private:
  void print_faults() const;

  uint64_t runs_ = 0;
  uint64_t not_counted_ = 0;
  uint64_t differing_ = 0;
  std::map<std::string, uint64_t> kinds_;  // of job, and where its state was
  sim::SimulationResult sum_;
  uint64_t first_bad_ = 0;
};

}  // namespace strand::app
