// Sixteen 16-bit numbers at once, in whatever registers this instruction set has.

namespace overnight::OVERNIGHT_ISA {

#if defined(__AVX2__)

using Lanes = __m256i;

[[gnu::always_inline]] inline Lanes zero() { return _mm256_setzero_si256(); }
[[gnu::always_inline]] inline Lanes all(std::int16_t value) { return _mm256_set1_epi16(value); }
[[gnu::always_inline]] inline Lanes load(const std::int16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
// Bytes as numbers with six fractional bits.
[[gnu::always_inline]] inline Lanes load_bytes(const std::uint8_t* from) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    return _mm256_slli_epi16(_mm256_cvtepu8_epi16(bytes), 6);
}
[[gnu::always_inline]] inline void store(std::int16_t* to, Lanes value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}
[[gnu::always_inline]] inline Lanes plus(Lanes a, Lanes b) { return _mm256_add_epi16(a, b); }
[[gnu::always_inline]] inline Lanes minus(Lanes a, Lanes b) { return _mm256_sub_epi16(a, b); }
// a * b / 32768, rounded.
[[gnu::always_inline]] inline Lanes scaled(Lanes a, Lanes b) { return _mm256_mulhrs_epi16(a, b); }
[[gnu::always_inline]] inline Lanes clamped(Lanes a, Lanes low, Lanes high) {
    return _mm256_max_epi16(low, _mm256_min_epi16(high, a));
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

using Lanes = int16x8x2_t;

[[gnu::always_inline]] inline Lanes all(std::int16_t value) { return {{vdupq_n_s16(value), vdupq_n_s16(value)}}; }
[[gnu::always_inline]] inline Lanes zero() { return all(0); }
[[gnu::always_inline]] inline Lanes load(const std::int16_t* from) { return {{vld1q_s16(from), vld1q_s16(from + 8)}}; }
[[gnu::always_inline]] inline Lanes load_bytes(const std::uint8_t* from) {
    return {
        {vreinterpretq_s16_u16(vshll_n_u8(vld1_u8(from), 6)), vreinterpretq_s16_u16(vshll_n_u8(vld1_u8(from + 8), 6))}};
}
[[gnu::always_inline]] inline void store(std::int16_t* to, Lanes value) {
    vst1q_s16(to, value.val[0]);
    vst1q_s16(to + 8, value.val[1]);
}
[[gnu::always_inline]] inline Lanes plus(Lanes a, Lanes b) {
    return {{vaddq_s16(a.val[0], b.val[0]), vaddq_s16(a.val[1], b.val[1])}};
}
[[gnu::always_inline]] inline Lanes minus(Lanes a, Lanes b) {
    return {{vsubq_s16(a.val[0], b.val[0]), vsubq_s16(a.val[1], b.val[1])}};
}
[[gnu::always_inline]] inline Lanes scaled(Lanes a, Lanes b) {
    return {{vqrdmulhq_s16(a.val[0], b.val[0]), vqrdmulhq_s16(a.val[1], b.val[1])}};
}
[[gnu::always_inline]] inline Lanes clamped(Lanes a, Lanes low, Lanes high) {
    return {{vmaxq_s16(low.val[0], vminq_s16(high.val[0], a.val[0])),
             vmaxq_s16(low.val[1], vminq_s16(high.val[1], a.val[1]))}};
}

#else

struct Lanes {
    std::int16_t value[16];
};

template <class Make>
[[gnu::always_inline]] inline Lanes each(Make make) {
    Lanes made;
    for (int i = 0; i < 16; ++i) made.value[i] = static_cast<std::int16_t>(make(i));
    return made;
}

[[gnu::always_inline]] inline Lanes all(std::int16_t value) {
    return each([&](int) { return value; });
}
[[gnu::always_inline]] inline Lanes zero() { return all(0); }
[[gnu::always_inline]] inline Lanes load(const std::int16_t* from) {
    return each([&](int i) { return from[i]; });
}
[[gnu::always_inline]] inline Lanes load_bytes(const std::uint8_t* from) {
    return each([&](int i) { return from[i] << 6; });
}
[[gnu::always_inline]] inline void store(std::int16_t* to, Lanes value) { __builtin_memcpy(to, &value, sizeof value); }
[[gnu::always_inline]] inline Lanes plus(Lanes a, Lanes b) {
    return each([&](int i) { return a.value[i] + b.value[i]; });
}
[[gnu::always_inline]] inline Lanes minus(Lanes a, Lanes b) {
    return each([&](int i) { return a.value[i] - b.value[i]; });
}
[[gnu::always_inline]] inline Lanes scaled(Lanes a, Lanes b) {
    return each([&](int i) { return ((a.value[i] * b.value[i] >> 14) + 1) >> 1; });
}
[[gnu::always_inline]] inline Lanes clamped(Lanes a, Lanes low, Lanes high) {
    return each([&](int i) {
        const std::int16_t most = a.value[i] < high.value[i] ? a.value[i] : high.value[i];
        return most > low.value[i] ? most : low.value[i];
    });
}

#endif

// Eight rows of eight as columns: interleaving the halves of the block three times swaps its rows and columns.
[[gnu::always_inline]] inline void transpose_block(const std::int16_t* from, std::size_t from_stride, std::int16_t* to,
                                                   std::size_t to_stride) {
    typedef std::int16_t Eight __attribute__((vector_size(16)));
    Eight rows[8];
    Eight mixed[8];
    for (int i = 0; i < 8; ++i) __builtin_memcpy(&rows[i], from + static_cast<std::size_t>(i) * from_stride, 16);
    for (int step = 0; step < 3; ++step) {
        for (int i = 0; i < 4; ++i) {
            mixed[2 * i] = __builtin_shufflevector(rows[i], rows[i + 4], 0, 8, 1, 9, 2, 10, 3, 11);
            mixed[2 * i + 1] = __builtin_shufflevector(rows[i], rows[i + 4], 4, 12, 5, 13, 6, 14, 7, 15);
        }
        for (int i = 0; i < 8; ++i) rows[i] = mixed[i];
    }
    for (int i = 0; i < 8; ++i) __builtin_memcpy(to + static_cast<std::size_t>(i) * to_stride, &rows[i], 16);
}

}  // namespace overnight::OVERNIGHT_ISA
