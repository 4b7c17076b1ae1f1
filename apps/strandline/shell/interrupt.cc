#include "interrupt.h"

#include <atomic>
#include <csignal>

namespace strand::app::shell {

namespace {
std::atomic<bool> interrupted{false};
std::atomic<bool> terminated{false};
void note_interrupt(int signal) {
  interrupted = true;
  if (signal == SIGTERM) terminated = true;
}
}  // namespace

Interrupts::Interrupts(std::initializer_list<int> signals) {
  interrupted = false;
  for (const int signal : signals) before_.emplace_back(signal, std::signal(signal, note_interrupt));
}
Interrupts::~Interrupts() {
  for (const auto& [signal, handler] : before_) std::signal(signal, handler);
}

bool Interrupts::take() { return interrupted.exchange(false); }

void end_if_terminated() {
  if (!terminated) return;
  std::signal(SIGTERM, SIG_DFL);
  std::raise(SIGTERM);
}

}  // namespace strand::app::shell
