// Windows that grow together.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "window/window.h"

namespace strand::window {

/// The live windows of one key under a merging assigner. Each has a state window: the window under which its
/// contents are kept, which stays when the window itself grows, so that contents need not move. Source: Flink
/// MergingWindowSet.
class MergingWindows {
 public:
  struct Entry {
    Window window;
    Window state;
    friend bool operator==(const Entry&, const Entry&) = default;
  };
  MergingWindows() = default;
  explicit MergingWindows(std::vector<Entry> entries) : entries_(std::move(entries)) {}

  struct Merge {
    Window result;
    std::vector<Window> merged;         // windows that are gone, `result` not among them unless it was one
    Window state;                       // where the contents are kept from now on
    std::vector<Window> merged_states;  // whose contents must be moved there
  };
  /// Adds a window and returns the one that it has become part of. `on_merge` is called where windows that
  /// have contents are affected.
  Window add(Window added, const std::function<void(const Merge&)>& on_merge);
  /// Where the contents of a live window are kept; nothing for a window that is not there any more.
  std::optional<Window> state_of(Window window) const;
  void retire(Window window);
  /// Keeps the contents of a live window under the window itself from now on; what it held is lost to it.
  void forget_contents(Window window);
  /// In the order of windows.
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<Entry> entries_;
};

}  // namespace strand::window
