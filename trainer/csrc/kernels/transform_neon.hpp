// The transforms of transform_plain.hpp on eight columns at once: each sum grows by widening multiply-and-adds of a row
// with a constant. The second pass is the first one on the transposed block.

namespace overnight::OVERNIGHT_ISA {

// One 32-bit sum for each of eight columns.
struct Sums {
    int32x4_t low;
    int32x4_t high;
};

[[gnu::always_inline]] inline Sums operator+(Sums a, Sums b) {
    return {vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)};
}
[[gnu::always_inline]] inline Sums operator-(Sums a, Sums b) {
    return {vsubq_s32(a.low, b.low), vsubq_s32(a.high, b.high)};
}

template <int bits>
[[gnu::always_inline]] inline Sums shifted(int16x8_t row) {
    return {vshll_n_s16(vget_low_s16(row), bits), vshll_high_n_s16(row, bits)};
}

[[gnu::always_inline]] inline Sums times(int16x8_t row, std::int16_t constant) {
    return {vmull_n_s16(vget_low_s16(row), constant), vmull_high_n_s16(row, constant)};
}

[[gnu::always_inline]] inline Sums times(int16x8_t a, std::int16_t by_a, int16x8_t b, std::int16_t by_b) {
    const Sums sum = times(a, by_a);
    return {vmlal_n_s16(sum.low, vget_low_s16(b), by_b), vmlal_high_n_s16(sum.high, b, by_b)};
}

// Rounded and narrowed. Not vqrshrn: the sums of damaged files wrap around on every instruction set alike.
template <int bits>
[[gnu::always_inline]] inline int16x8_t narrowed(Sums sums) {
    const int32x4_t half = vdupq_n_s32(1 << (bits - 1));
    const int16x4_t low = vqmovn_s32(vshrq_n_s32(vaddq_s32(sums.low, half), bits));
    return vqmovn_high_s32(low, vshrq_n_s32(vaddq_s32(sums.high, half), bits));
}

template <int bits>
[[gnu::always_inline]] inline void put_eight(const Sums* even, const Sums* odd, int16x8_t* row) {
    for (int k = 0; k < 4; ++k) {
        row[k] = narrowed<bits>(even[k] + odd[k]);
        row[7 - k] = narrowed<bits>(even[k] - odd[k]);
    }
}

template <int bits>
[[gnu::always_inline]] inline void vector_pass_of_eight(int16x8_t* row) {
    const Sums sum = shifted<13>(row[0]) + shifted<13>(row[4]);
    const Sums difference = shifted<13>(row[0]) - shifted<13>(row[4]);
    const Sums wide = times(row[2], 10703, row[6], 4433);
    const Sums narrow = times(row[2], 4433, row[6], -10704);
    const Sums even[4] = {sum + wide, difference + narrow, difference - narrow, sum - wide};
    const Sums odd[4] = {
        times(row[1], 11363, row[3], 9633) + times(row[5], 6437, row[7], 2260),
        times(row[1], 9633, row[3], -2259) + times(row[5], -11362, row[7], -6436),
        times(row[1], 6437, row[3], -11362) + times(row[5], 2261, row[7], 9633),
        times(row[1], 2260, row[3], -6436) + times(row[5], 9633, row[7], -11363),
    };
    put_eight<bits>(even, odd, row);
}

// The same where the rows 4 to 7 are zero, as in most blocks.
template <int bits>
[[gnu::always_inline]] inline void vector_pass_of_first_four(int16x8_t* row) {
    const Sums flat = shifted<13>(row[0]);
    const Sums wide = times(row[2], 10703);
    const Sums narrow = times(row[2], 4433);
    const Sums even[4] = {flat + wide, flat + narrow, flat - narrow, flat - wide};
    const Sums odd[4] = {
        times(row[1], 11363, row[3], 9633),
        times(row[1], 9633, row[3], -2259),
        times(row[1], 6437, row[3], -11362),
        times(row[1], 2260, row[3], -6436),
    };
    put_eight<bits>(even, odd, row);
}

template <int bits>
[[gnu::always_inline]] inline void vector_pass_of_four(int16x8_t* row) {
    const Sums flat = shifted<14>(row[0]);
    const Sums even = times(row[2], 15137, row[6], -6270);
    const Sums outer = times(row[1], 20995, row[3], 7373) + times(row[5], -4926, row[7], -4176);
    const Sums inner = times(row[1], 8697, row[3], -17799) + times(row[5], 11893, row[7], -1730);
    row[0] = narrowed<bits>(flat + even + outer);
    row[3] = narrowed<bits>(flat + even - outer);
    row[1] = narrowed<bits>(flat - even + inner);
    row[2] = narrowed<bits>(flat - even - inner);
}

template <int bits>
[[gnu::always_inline]] inline void vector_pass_of_two(int16x8_t* row) {
    const Sums flat = shifted<15>(row[0]);
    const Sums odd = times(row[1], 29692, row[3], -10426) + times(row[5], 6967, row[7], -5906);
    row[0] = narrowed<bits>(flat + odd);
    row[1] = narrowed<bits>(flat - odd);
}

[[gnu::always_inline]] inline void transpose_eight(int16x8_t* row) {
    int16x8_t mixed[8];
    for (int step = 0; step < 3; ++step) {
        for (int k = 0; k < 4; ++k) {
            mixed[2 * k] = vzip1q_s16(row[k], row[k + 4]);
            mixed[2 * k + 1] = vzip2q_s16(row[k], row[k + 4]);
        }
        for (int k = 0; k < 8; ++k) row[k] = mixed[k];
    }
}

// Eight samples around zero as bytes around 128.
[[gnu::always_inline]] inline uint8x8_t as_bytes(int16x8_t row) {
    return vadd_u8(vreinterpret_u8_s8(vqmovn_s16(row)), vdup_n_u8(128));
}

[[gnu::always_inline]] inline int16x8_t dequantized(const std::int16_t* block, const std::int16_t* quantization,
                                                    int row) {
    return vmulq_s16(vld1q_s16(block + 8 * row), vld1q_s16(quantization + 8 * row));
}

template <bool first_four>
inline void transform_of_eight(const WaitingBlocks& blocks) {
    constexpr int first_bits = constant_bits - spare_bits;
    constexpr int second_bits = constant_bits + spare_bits + 3;
    int16x8_t row[8];
    for (int k = 0; k < (first_four ? 4 : 8); ++k) row[k] = dequantized(blocks.block[0], blocks.quantization[0], k);
    if constexpr (first_four) {
        vector_pass_of_first_four<first_bits>(row);
        transpose_eight(row);
        vector_pass_of_first_four<second_bits>(row);
    } else {
        vector_pass_of_eight<first_bits>(row);
        transpose_eight(row);
        vector_pass_of_eight<second_bits>(row);
    }
    transpose_eight(row);
    for (int k = 0; k < 8; ++k) {
        vst1_u8(blocks.out[0] + static_cast<std::size_t>(k) * blocks.stride[0], as_bytes(row[k]));
    }
}

template <int side>
inline void transform_reduced(const WaitingBlocks& blocks) {
    constexpr int more = side == 4 ? 1 : 2;
    constexpr int first_bits = constant_bits - spare_bits + more;
    constexpr int second_bits = constant_bits + spare_bits + 3 + more;
    int16x8_t row[8];
    for (int k = 0; k < 8; ++k) row[k] = dequantized(blocks.block[0], blocks.quantization[0], k);
    if constexpr (side == 4) vector_pass_of_four<first_bits>(row);
    if constexpr (side == 2) vector_pass_of_two<first_bits>(row);
    for (int k = side; k < 8; ++k) row[k] = vdupq_n_s16(0);
    transpose_eight(row);
    if constexpr (side == 4) vector_pass_of_four<second_bits>(row);
    if constexpr (side == 2) vector_pass_of_two<second_bits>(row);
    for (int k = side; k < 8; ++k) row[k] = vdupq_n_s16(0);
    transpose_eight(row);
    for (int k = 0; k < side; ++k) {
        const uint8x8_t samples = as_bytes(row[k]);
        __builtin_memcpy(blocks.out[0] + static_cast<std::size_t>(k) * blocks.stride[0], &samples, side);
    }
}

inline void transform(Transform kind, const WaitingBlocks& blocks) {
    switch (kind) {
        case Transform::first_four: return transform_of_eight<true>(blocks);
        case Transform::eight: return transform_of_eight<false>(blocks);
        case Transform::four: return transform_reduced<4>(blocks);
        case Transform::two: return transform_reduced<2>(blocks);
    }
}

}  // namespace overnight::OVERNIGHT_ISA
