#include "time/generator.h"

namespace strand::time {

FutureEvents find_future(const Events& events, EventTime limit) {
  FutureEvents found;
  const auto look = [&](size_t index, EventTime time) {
    if (found.rows++ == 0) found = {1, index, time};
  };
  for (size_t i = 0; i < events.times.size(); ++i) {
    if (events.times[i] > limit) {
      look(i, events.times[i]);
    } else if (!events.marks.empty() && events.marks[i] > limit) {
      look(i, events.marks[i]);
    }
  }
  return found;
}

}  // namespace strand::time
