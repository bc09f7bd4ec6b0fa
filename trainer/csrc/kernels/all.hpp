// Everything that is compiled once for each instruction set, under the namespace that OVERNIGHT_ISA names.
#include <cstddef>
#include <cstdint>

#include "../jpeg/frame.hpp"
#include "../numbers.hpp"
#include "kernels.hpp"

// clang-format off: each builds on those before it
#include "entropy.hpp"
#if defined(__AVX2__)
#include "vectors.hpp"
#endif
#include "waiting.hpp"
#if defined(__AVX2__) || (defined(__ARM_NEON) && defined(__aarch64__))
#define OVERNIGHT_VECTOR_TRANSFORM
#endif
#include "transform_plain.hpp"
#if defined(__AVX2__)
#include "transform_x86.hpp"
#elif defined(__ARM_NEON) && defined(__aarch64__)
#include "transform_neon.hpp"
#endif
#include "scan.hpp"
#include "lanes.hpp"
#include "resample.hpp"
#include "sample.hpp"
// clang-format on
