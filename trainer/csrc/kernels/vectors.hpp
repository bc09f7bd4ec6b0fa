// Registers of 256 bits as two halves that have nothing to do with each other: what the instructions of AVX2 do to
// bytes and words they do to each half by itself.

namespace overnight::OVERNIGHT_ISA {

[[gnu::always_inline]] inline __m128i load_half(const void* from) {
    return _mm_loadu_si128(static_cast<const __m128i*>(from));
}
[[gnu::always_inline]] inline __m256i of_halves(__m128i lower, __m128i upper) {
    return _mm256_inserti128_si256(_mm256_castsi128_si256(lower), upper, 1);
}
[[gnu::always_inline]] inline __m128i lower_half(__m256i value) { return _mm256_castsi256_si128(value); }
[[gnu::always_inline]] inline __m128i upper_half(__m256i value) { return _mm256_extracti128_si256(value, 1); }

// In each half, eight rows of eight 16-bit numbers as columns.
[[gnu::always_inline]] inline void transpose_halves(__m256i* row) {
    __m256i pairs[8];
    for (int k = 0; k < 4; ++k) {
        pairs[2 * k] = _mm256_unpacklo_epi16(row[2 * k], row[2 * k + 1]);
        pairs[2 * k + 1] = _mm256_unpackhi_epi16(row[2 * k], row[2 * k + 1]);
    }
    __m256i fours[8];
    for (int k = 0; k < 2; ++k) {
        fours[4 * k] = _mm256_unpacklo_epi32(pairs[4 * k], pairs[4 * k + 2]);
        fours[4 * k + 1] = _mm256_unpackhi_epi32(pairs[4 * k], pairs[4 * k + 2]);
        fours[4 * k + 2] = _mm256_unpacklo_epi32(pairs[4 * k + 1], pairs[4 * k + 3]);
        fours[4 * k + 3] = _mm256_unpackhi_epi32(pairs[4 * k + 1], pairs[4 * k + 3]);
    }
    for (int k = 0; k < 4; ++k) {
        row[2 * k] = _mm256_unpacklo_epi64(fours[k], fours[k + 4]);
        row[2 * k + 1] = _mm256_unpackhi_epi64(fours[k], fours[k + 4]);
    }
}

}  // namespace overnight::OVERNIGHT_ISA
