// The defences that the simulator takes away, to prove that it would notice.
#pragma once

#include <functional>
#include <vector>

#include "sim/world/simulation.h"

namespace strand::app {

struct SimCanary {
  const char* name;
  /// Takes the defence away, and makes what it is for more frequent.
  std::function<void(sim::SimulationOptions&)> remove;
  /// Another rule covers it, so nothing may differ without it.
  bool second_line = false;
  /// The random jobs that it shows in soonest, by name; empty: the usual mixture.
  std::string job = {};
};

const std::vector<SimCanary>& sim_canaries();

}  // namespace strand::app
