#include "window/session.h"

#include <algorithm>

namespace strand::window {

/// The set holds no two windows that meet, so all that a new one merges with meet the span of those before
/// them.
Window MergingWindows::add(Window added, const std::function<void(const Merge&)>& on_merge) {
  Merge merge{added, {}, added, {}};
  std::vector<Entry> absorbed;
  for (bool grown = true; grown;) {
    grown = false;
    for (auto entry = entries_.begin(); entry != entries_.end();) {
      if (!entry->window.meets(merge.result)) {
        ++entry;
        continue;
      }
      merge.result = {std::min(merge.result.start, entry->window.start),
                      std::max(merge.result.end, entry->window.end)};
      absorbed.push_back(*entry);
      entry = entries_.erase(entry);
      grown = true;
    }
  }
  std::sort(absorbed.begin(), absorbed.end(),
            [](const Entry& a, const Entry& b) { return a.window < b.window; });
  if (!absorbed.empty()) merge.state = absorbed.front().state;
  for (const Entry& entry : absorbed) {
    merge.merged.push_back(entry.window);
    if (entry.state != merge.state) merge.merged_states.push_back(entry.state);
  }
  const Entry made{merge.result, merge.state};
  entries_.insert(std::upper_bound(entries_.begin(), entries_.end(), made,
                                   [](const Entry& a, const Entry& b) { return a.window < b.window; }),
                  made);
  const bool unchanged =
      absorbed.empty() || (absorbed.size() == 1 && absorbed.front().window == merge.result);
  if (!unchanged) on_merge(merge);
  return merge.result;
}

std::optional<Window> MergingWindows::state_of(Window window) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.window == window; });
  return found == entries_.end() ? std::nullopt : std::optional(found->state);
}

void MergingWindows::forget_contents(Window window) {
  for (Entry& entry : entries_) {
    if (entry.window == window) entry.state = window;
  }
}

void MergingWindows::retire(Window window) {
  std::erase_if(entries_, [&](const Entry& e) { return e.window == window; });
}

}  // namespace strand::window
