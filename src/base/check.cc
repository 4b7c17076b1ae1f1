#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace strand {

void check_failed(const char* file, int line, const char* condition) {
  std::fprintf(stderr, "STRAND_CHECK failed at %s:%d: %s\n", file, line, condition);
  std::abort();
}

}  // namespace strand
