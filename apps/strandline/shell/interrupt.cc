#include "interrupt.h"

#include <atomic>
#include <csignal>

namespace strand::app::shell {

namespace {
std::atomic<bool> interrupted{false};
void note_interrupt(int) { interrupted = true; }
}  // namespace

Interrupts::Interrupts() : before_(std::signal(SIGINT, note_interrupt)) { interrupted = false; }
Interrupts::~Interrupts() { std::signal(SIGINT, before_); }

bool Interrupts::take() { return interrupted.exchange(false); }

}  // namespace strand::app::shell
