// Ctrl-C in a shell: asks the query that runs to end, and leaves the shell alone.
#pragma once

namespace strand::app::shell {

/// While it lives, SIGINT is noted instead of ending the process; then the handler from before comes back.
class Interrupts {
 public:
  Interrupts();
  ~Interrupts();
  Interrupts(const Interrupts&) = delete;
  Interrupts& operator=(const Interrupts&) = delete;

  /// Whether SIGINT has come since the last call.
  static bool take();

 private:
  void (*before_)(int);
};

}  // namespace strand::app::shell
