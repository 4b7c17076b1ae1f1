// Which kernels to run: those for every machine, or those for x86-64-v3 (AVX2, BMI2).
#pragma once

namespace strand {

#if defined(__x86_64__) && defined(__GNUC__)
#define STRAND_HAS_V3 1
#define STRAND_TARGET_V3 __attribute__((target("arch=x86-64-v3")))
#else
#define STRAND_HAS_V3 0
#endif

enum class CpuLevel { kPortable, kV3 };

/// What this machine can run. The environment variable STRANDLINE_CPU=portable asks for the portable kernels.
/// Decided once.
CpuLevel cpu_level();

}  // namespace strand
