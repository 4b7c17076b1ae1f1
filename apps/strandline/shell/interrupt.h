// Ctrl-C in a shell: asks the query that runs to end, and leaves the shell alone. SIGTERM ends the query,
// then the shell.
#pragma once

#include <initializer_list>
#include <utility>
#include <vector>

namespace strand::app::shell {

/// While it lives, these signals are noted instead of ending the process; then the handlers from before come
/// back.
class Interrupts {
 public:
  explicit Interrupts(std::initializer_list<int> signals);
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Whether one of them has come since the last call.
  static bool take();

 private:
  std::vector<std::pair<int, void (*)(int)>> before_;
};

/// Ends the process as SIGTERM does, if one was noted: for a place where nothing is left to be cleaned up.
void end_if_terminated();

}  // namespace strand::app::shell
