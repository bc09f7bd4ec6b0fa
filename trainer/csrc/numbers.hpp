// Floats of sixteen bits. Always inlined: the kernels are compiled for several instruction sets, and no copy compiled
// for one of them may serve another.
#pragma once

#include <cstdint>

namespace overnight {

[[gnu::always_inline]] inline std::uint32_t bits_of(float value) {
    std::uint32_t bits;
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

// To the nearest, ties to even.
[[gnu::always_inline]] inline std::uint16_t to_bfloat16(float value) {
    const std::uint32_t bits = bits_of(value);
    return static_cast<std::uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// To the nearest, ties to even; normalised samples are far from the largest half and may be subnormal.
[[gnu::always_inline]] inline std::uint16_t to_float16(float value) {
    const std::uint32_t bits = bits_of(value);
    const std::uint32_t sign = bits >> 16 & 0x8000;
    const std::uint32_t magnitude = bits & 0x7FFFFFFF;
    if (magnitude >= 0x47800000) return static_cast<std::uint16_t>(sign | 0x7C00);
    if (magnitude < 0x38800000) {
        // Adding 1/2 aligns the last bit of a float with the last bit of the subnormal half.
        float shifted;
        __builtin_memcpy(&shifted, &magnitude, sizeof shifted);
        return static_cast<std::uint16_t>(sign | (bits_of(shifted + 0.5F) - 0x3F000000));
    }
    return static_cast<std::uint16_t>(sign | ((magnitude - 0x38000000 + 0xFFF + (magnitude >> 13 & 1)) >> 13));
}

}  // namespace overnight
