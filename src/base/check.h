// STRAND_CHECK: what only a bug of ours can make false. Never compiled out: a failed check means that state is
// suspect, and going on could commit wrong rows.
#pragma once

namespace strand {
[[noreturn]] void check_failed(const char* file, int line, const char* condition);
}  // namespace strand

#define STRAND_CHECK(condition)                                              \
  do {                                                                       \
    if (!(condition)) [[unlikely]]                                           \
      ::strand::check_failed(__FILE__, __LINE__, #condition);                \
  } while (false)
