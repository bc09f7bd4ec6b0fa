// The kernels for whatever the whole extension is compiled for; on Arm that includes NEON.
#if defined(__ARM_NEON) && defined(__aarch64__)
#include <arm_neon.h>
#define OVERNIGHT_ISA neon
#else
#define OVERNIGHT_ISA baseline
#endif
#if defined(__AVX2__)
#include <immintrin.h>
#endif

#include "all.hpp"

namespace overnight {

extern const Kernels baseline_kernels;
const Kernels baseline_kernels{
#if defined(__ARM_NEON) && defined(__aarch64__)
    "neon",
#else
    "baseline",
#endif
    OVERNIGHT_ISA::unstuff, OVERNIGHT_ISA::decode_scan, OVERNIGHT_ISA::make_sample};

}  // namespace overnight
