#include "base/cpu.h"

#include <cstdlib>
#include <string_view>

namespace strand {

namespace {
CpuLevel decide() {
  const char* wanted = std::getenv("STRANDLINE_CPU");
  if (wanted != nullptr && std::string_view(wanted) == "portable") return CpuLevel::kPortable;
#if STRAND_HAS_V3
  if (__builtin_cpu_supports("x86-64-v3")) return CpuLevel::kV3;
#endif
  return CpuLevel::kPortable;
}
}  // namespace

CpuLevel cpu_level() {
  static const CpuLevel level = decide();
  return level;
}

}  // namespace strand
