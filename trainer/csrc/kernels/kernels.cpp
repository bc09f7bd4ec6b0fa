#include "kernels.hpp"

#include <cstdlib>
#include <cstring>

namespace overnight {

extern const Kernels baseline_kernels;
#if defined(OVERNIGHT_HAS_AVX2)
extern const Kernels avx2_kernels;
#endif

namespace {

#if defined(OVERNIGHT_HAS_AVX2)
bool machine_has_avx2() {
    __builtin_cpu_init();
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("fma");
}
#endif

const Kernels& choose() {
    const char* forced = std::getenv("OVERNIGHT_SIMD");
    if (forced != nullptr && std::strcmp(forced, "baseline") == 0) return baseline_kernels;
#if defined(OVERNIGHT_HAS_AVX2)
    if (machine_has_avx2()) return avx2_kernels;
#endif
    return baseline_kernels;
}

}  // namespace

const Kernels& kernels() {
    static const Kernels& chosen = choose();
    return chosen;
}

const Kernels* kernels_named(const char* name) {
    if (std::strcmp(name, baseline_kernels.name) == 0) return &baseline_kernels;
#if defined(OVERNIGHT_HAS_AVX2)
    if (std::strcmp(name, avx2_kernels.name) == 0 && machine_has_avx2()) return &avx2_kernels;
#endif
    return nullptr;
}

}  // namespace overnight
