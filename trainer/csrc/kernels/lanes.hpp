// Thirty-two 16-bit numbers at once, in whatever registers this instruction set has, and their transposition.

namespace overnight::OVERNIGHT_ISA {

#if defined(__AVX2__)

struct Lanes {
    __m256i first;
    __m256i second;
};

[[gnu::always_inline]] inline __m256i load_sixteen(const std::int16_t* from) {
    return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
}
[[gnu::always_inline]] inline __m256i load_sixteen(const std::uint8_t* from) {
    return _mm256_slli_epi16(_mm256_cvtepu8_epi16(load_half(from)), 6);
}
[[gnu::always_inline]] inline void store_sixteen(std::int16_t* to, __m256i value) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), value);
}
[[gnu::always_inline]] inline __m256i clamped(__m256i a, __m256i low, __m256i high) {
    return _mm256_max_epi16(low, _mm256_min_epi16(high, a));
}
[[gnu::always_inline]] inline Lanes all(std::int16_t value) {
    return {_mm256_set1_epi16(value), _mm256_set1_epi16(value)};
}
[[gnu::always_inline]] inline Lanes zero() { return all(0); }
[[gnu::always_inline]] inline Lanes load(const std::int16_t* from) {
    return {load_sixteen(from), load_sixteen(from + 16)};
}
[[gnu::always_inline]] inline Lanes load(const std::uint8_t* from) {
    return {load_sixteen(from), load_sixteen(from + 16)};
}
[[gnu::always_inline]] inline void store(std::int16_t* to, Lanes value) {
    store_sixteen(to, value.first);
    store_sixteen(to + 16, value.second);
}
[[gnu::always_inline]] inline Lanes plus(Lanes a, Lanes b) {
    return {_mm256_add_epi16(a.first, b.first), _mm256_add_epi16(a.second, b.second)};
}
[[gnu::always_inline]] inline Lanes minus(Lanes a, Lanes b) {
    return {_mm256_sub_epi16(a.first, b.first), _mm256_sub_epi16(a.second, b.second)};
}
[[gnu::always_inline]] inline Lanes scaled(Lanes a, Lanes b) {
    return {_mm256_mulhrs_epi16(a.first, b.first), _mm256_mulhrs_epi16(a.second, b.second)};
}
[[gnu::always_inline]] inline Lanes clamped(Lanes a, Lanes low, Lanes high) {
    return {clamped(a.first, low.first, high.first), clamped(a.second, low.second, high.second)};
}

#elif defined(__ARM_NEON) && defined(__aarch64__)

using Lanes = int16x8x4_t;

template <class Make>
[[gnu::always_inline]] inline Lanes each(Make make) {
    return {{make(0), make(1), make(2), make(3)}};
}

[[gnu::always_inline]] inline Lanes all(std::int16_t value) {
    return each([&](int) { return vdupq_n_s16(value); });
}
[[gnu::always_inline]] inline Lanes zero() { return all(0); }
[[gnu::always_inline]] inline Lanes load(const std::int16_t* from) {
    return each([&](int i) { return vld1q_s16(from + 8 * i); });
}
[[gnu::always_inline]] inline Lanes load(const std::uint8_t* from) {
    return each([&](int i) { return vreinterpretq_s16_u16(vshll_n_u8(vld1_u8(from + 8 * i), 6)); });
}
[[gnu::always_inline]] inline void store(std::int16_t* to, Lanes value) {
    for (int i = 0; i < 4; ++i) vst1q_s16(to + 8 * i, value.val[i]);
}
[[gnu::always_inline]] inline Lanes plus(Lanes a, Lanes b) {
    return each([&](int i) { return vaddq_s16(a.val[i], b.val[i]); });
}
[[gnu::always_inline]] inline Lanes minus(Lanes a, Lanes b) {
    return each([&](int i) { return vsubq_s16(a.val[i], b.val[i]); });
}
[[gnu::always_inline]] inline Lanes scaled(Lanes a, Lanes b) {
    return each([&](int i) { return vqrdmulhq_s16(a.val[i], b.val[i]); });
}
[[gnu::always_inline]] inline Lanes clamped(Lanes a, Lanes low, Lanes high) {
    return each([&](int i) { return vmaxq_s16(low.val[i], vminq_s16(high.val[i], a.val[i])); });
}

#else

struct Lanes {
    std::int16_t value[32];
};

template <class Make>
[[gnu::always_inline]] inline Lanes each(Make make) {
    Lanes made;
    for (int i = 0; i < 32; ++i) made.value[i] = static_cast<std::int16_t>(make(i));
    return made;
}

[[gnu::always_inline]] inline Lanes all(std::int16_t value) {
    return each([&](int) { return value; });
}
[[gnu::always_inline]] inline Lanes zero() { return all(0); }
[[gnu::always_inline]] inline Lanes load(const std::int16_t* from) {
    return each([&](int i) { return from[i]; });
}
[[gnu::always_inline]] inline Lanes load(const std::uint8_t* from) {
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

#if defined(__AVX2__)

// From 32 rows, eight numbers of each: eight columns of 32 (to_stride apart), and back.
[[gnu::always_inline]] inline void columns_of_rows(const std::int16_t* rows, std::size_t stride,
                                                   std::int16_t* columns) {
    for (int top = 0; top < 32; top += 16, rows += 16 * stride, columns += 16) {
        __m256i row[8];
        for (int i = 0; i < 8; ++i)
            row[i] = of_halves(load_half(rows + i * stride), load_half(rows + (i + 8) * stride));
        transpose_halves(row);
        for (int i = 0; i < 8; ++i) _mm256_storeu_si256(reinterpret_cast<__m256i*>(columns + 32 * i), row[i]);
    }
}

[[gnu::always_inline]] inline void rows_of_columns(const std::int16_t* columns, std::int16_t* rows,
                                                   std::size_t stride) {
    for (int top = 0; top < 32; top += 16, rows += 16 * stride, columns += 16) {
        __m256i row[8];
        for (int i = 0; i < 8; ++i) row[i] = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(columns + 32 * i));
        transpose_halves(row);
        for (int i = 0; i < 8; ++i) {
            _mm_storeu_si128(reinterpret_cast<__m128i*>(rows + i * stride), lower_half(row[i]));
            _mm_storeu_si128(reinterpret_cast<__m128i*>(rows + (i + 8) * stride), upper_half(row[i]));
        }
    }
}

#else

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

[[gnu::always_inline]] inline void columns_of_rows(const std::int16_t* rows, std::size_t stride,
                                                   std::int16_t* columns) {
    for (int y = 0; y < 32; y += 8)
        transpose_block(rows + static_cast<std::size_t>(y) * stride, stride, columns + y, 32);
}

[[gnu::always_inline]] inline void rows_of_columns(const std::int16_t* columns, std::int16_t* rows,
                                                   std::size_t stride) {
    for (int y = 0; y < 32; y += 8)
        transpose_block(columns + y, 32, rows + static_cast<std::size_t>(y) * stride, stride);
}

#endif

}  // namespace overnight::OVERNIGHT_ISA
