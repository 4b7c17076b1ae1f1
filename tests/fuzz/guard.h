// What a case that ends the process leaves behind: how to repeat it.
#pragma once

#include <cstdint>
#include <string>

namespace strand::fuzz {

/// Arranges that a signal, a failed check, a sanitizer's report or more than `seconds` of CPU time in one
/// case print the command that repeats the case, and that the process takes no more memory than `bytes` (0:
/// as much as it likes; sanitizers need that). Called once, before the first case.
void guard_process(int seconds, uint64_t bytes);

/// From here on the case of this command runs, and has its CPU time before it.
void begin_case(const std::string& command);

/// CPU time of the process.
double cpu_seconds();

}  // namespace strand::fuzz
