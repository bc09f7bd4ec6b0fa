// The kernels for x86-64-v3: AVX2, and shifts that need no flags (BMI2). Only this file is compiled for it.
#include <immintrin.h>

#define OVERNIGHT_ISA avx2
#include "all.hpp"

namespace overnight {

extern const Kernels avx2_kernels;
const Kernels avx2_kernels{"avx2", avx2::unstuff, avx2::decode_scan, avx2::make_sample};

}  // namespace overnight
