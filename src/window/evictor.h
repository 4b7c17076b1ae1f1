// Evictors: which elements of a window a function does not get to see.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <vector>

#include "base/ids.h"

namespace strand::window {

struct EvictorOptions {
  enum class Kind : uint8_t { kCount, kTime, kDelta };
  Kind kind = Kind::kCount;
  int64_t count = 0;     // keeps the last `count`
  Duration window = {};  // keeps what is younger than the newest - window
  double threshold = 0;  // drops what is `threshold` or more away from the last element
  bool after = false;    // after the function has run, not before
};

/// Removes elements in front of, or behind, a function call. `Element` has `time` (optional) and `measure()`.
/// Source: Flink CountEvictor, TimeEvictor, DeltaEvictor.
template <class Element>
void evict(const EvictorOptions& options, std::vector<Element>& elements) {
  if (elements.empty()) return;
  switch (options.kind) {
    case EvictorOptions::Kind::kCount: {
      const auto size = static_cast<int64_t>(elements.size());
      if (size > options.count) elements.erase(elements.begin(), elements.begin() + (size - options.count));
      break;
    }
    case EvictorOptions::Kind::kTime: {
      if (!elements.front().time) return;
      EventTime newest = EventTime::min();
      for (const Element& e : elements) newest = std::max(newest, e.time.value_or(EventTime::min()));
      const int64_t cutoff = newest.millis - options.window.millis;
      std::erase_if(elements,
                    [&](const Element& e) { return e.time.value_or(EventTime::min()).millis <= cutoff; });
      break;
    }
    case EvictorOptions::Kind::kDelta: {
      const double last = elements.back().measure();
      std::erase_if(elements,
                    [&](const Element& e) { return std::abs(last - e.measure()) >= options.threshold; });
      break;
    }
  }
}

}  // namespace strand::window
