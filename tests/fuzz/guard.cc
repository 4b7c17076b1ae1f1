#include "tests/fuzz/guard.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <ctime>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/common_interface_defs.h>
#endif

namespace strand::fuzz {

namespace {

char current[512] = "no case yet\n";
int case_seconds = 0;
alignas(16) char signal_stack[1 << 16];

void say(const char* text) {
  [[maybe_unused]] const auto written = write(STDERR_FILENO, text, std::strlen(text));
}

void say_how_to_repeat() {
  say("to repeat: ");
  say(current);
}

extern "C" void on_signal(int number) {
  say(number == SIGVTALRM ? "the case takes too long\n" : "the case ends the process\n");
  say_how_to_repeat();
  std::signal(number, SIG_DFL);
  number == SIGVTALRM ? _exit(1) : static_cast<void>(std::raise(number));
}

}  // namespace

void guard_process(int seconds, uint64_t bytes) {
  case_seconds = seconds;
  if (bytes > 0) {
    const rlimit limit = {bytes, bytes};
    setrlimit(RLIMIT_AS, &limit);
  }
  const stack_t stack = {signal_stack, 0, sizeof signal_stack};
  sigaltstack(&stack, nullptr);
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_ONSTACK | SA_NODEFER;
  sigaction(SIGVTALRM, &action, nullptr);
#if defined(__SANITIZE_ADDRESS__)
  __sanitizer_set_death_callback(say_how_to_repeat);
  sigaction(SIGABRT, &action, nullptr);
#else
  for (const int number : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT}) sigaction(number, &action, nullptr);
#endif
}

void begin_case(const std::string& command) {
  const size_t size = std::min(command.size(), sizeof current - 2);
  std::memcpy(current, command.data(), size);
  std::memcpy(current + size, "\n", 2);
  itimerval timer = {};
  timer.it_value.tv_sec = case_seconds;
  setitimer(ITIMER_VIRTUAL, &timer, nullptr);
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace strand::fuzz
