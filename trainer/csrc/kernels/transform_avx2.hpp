// The transforms of transform_plain.hpp on eight columns at once: a pair of rows, interleaved, meets a pair of
// constants in one multiply-and-add. The second pass is the first one on the transposed block.

namespace overnight::OVERNIGHT_ISA {

[[gnu::always_inline]] inline __m256i pair_constants(int first, int second) {
    return _mm256_set1_epi32(
        static_cast<int>(static_cast<unsigned>(first & 0xFFFF) | static_cast<unsigned>(second) << 16));
}

// a0 b0 a1 b1 ... of the columns 0-3 in the lower half, 4-7 in the upper.
[[gnu::always_inline]] inline __m256i interleave(__m128i a, __m128i b) {
    return _mm256_set_m128i(_mm_unpackhi_epi16(a, b), _mm_unpacklo_epi16(a, b));
}

[[gnu::always_inline]] inline __m256i times(__m256i pairs, int first, int second) {
    return _mm256_madd_epi16(pairs, pair_constants(first, second));
}

// Two rows of 32-bit sums, rounded and narrowed, as two rows of 16 bits.
template <int bits>
[[gnu::always_inline]] inline void narrow_rows(__m256i a, __m256i b, __m128i& row_a, __m128i& row_b) {
    const __m256i half = _mm256_set1_epi32(1 << (bits - 1));
    const __m256i packed = _mm256_packs_epi32(_mm256_srai_epi32(_mm256_add_epi32(a, half), bits),
                                              _mm256_srai_epi32(_mm256_add_epi32(b, half), bits));
    const __m256i ordered = _mm256_permute4x64_epi64(packed, 0xD8);
    row_a = _mm256_castsi256_si128(ordered);
    row_b = _mm256_extracti128_si256(ordered, 1);
}

template <int bits>
[[gnu::always_inline]] inline void vector_pass_of_eight(__m128i* row) {
    const __m256i p04 = interleave(row[0], row[4]);
    const __m256i p26 = interleave(row[2], row[6]);
    const __m256i p13 = interleave(row[1], row[3]);
    const __m256i p57 = interleave(row[5], row[7]);
    const __m256i sum = times(p04, 8192, 8192);
    const __m256i difference = times(p04, 8192, -8192);
    const __m256i wide = times(p26, 10703, 4433);
    const __m256i narrow = times(p26, 4433, -10704);
    const __m256i even0 = _mm256_add_epi32(sum, wide);
    const __m256i even1 = _mm256_add_epi32(difference, narrow);
    const __m256i even2 = _mm256_sub_epi32(difference, narrow);
    const __m256i even3 = _mm256_sub_epi32(sum, wide);
    const __m256i odd0 = _mm256_add_epi32(times(p13, 11363, 9633), times(p57, 6437, 2260));
    const __m256i odd1 = _mm256_add_epi32(times(p13, 9633, -2259), times(p57, -11362, -6436));
    const __m256i odd2 = _mm256_add_epi32(times(p13, 6437, -11362), times(p57, 2261, 9633));
    const __m256i odd3 = _mm256_add_epi32(times(p13, 2260, -6436), times(p57, 9633, -11363));
    narrow_rows<bits>(_mm256_add_epi32(even0, odd0), _mm256_sub_epi32(even0, odd0), row[0], row[7]);
    narrow_rows<bits>(_mm256_add_epi32(even1, odd1), _mm256_sub_epi32(even1, odd1), row[1], row[6]);
    narrow_rows<bits>(_mm256_add_epi32(even2, odd2), _mm256_sub_epi32(even2, odd2), row[2], row[5]);
    narrow_rows<bits>(_mm256_add_epi32(even3, odd3), _mm256_sub_epi32(even3, odd3), row[3], row[4]);
}

// The same where the rows 4 to 7 are zero, as in most blocks: the pairs are of what is left.
template <int bits>
[[gnu::always_inline]] inline void vector_pass_of_first_four(__m128i* row) {
    const __m256i p02 = interleave(row[0], row[2]);
    const __m256i p13 = interleave(row[1], row[3]);
    const __m256i even0 = times(p02, 8192, 10703);
    const __m256i even1 = times(p02, 8192, 4433);
    const __m256i even2 = times(p02, 8192, -4433);
    const __m256i even3 = times(p02, 8192, -10703);
    const __m256i odd0 = times(p13, 11363, 9633);
    const __m256i odd1 = times(p13, 9633, -2259);
    const __m256i odd2 = times(p13, 6437, -11362);
    const __m256i odd3 = times(p13, 2260, -6436);
    narrow_rows<bits>(_mm256_add_epi32(even0, odd0), _mm256_sub_epi32(even0, odd0), row[0], row[7]);
    narrow_rows<bits>(_mm256_add_epi32(even1, odd1), _mm256_sub_epi32(even1, odd1), row[1], row[6]);
    narrow_rows<bits>(_mm256_add_epi32(even2, odd2), _mm256_sub_epi32(even2, odd2), row[2], row[5]);
    narrow_rows<bits>(_mm256_add_epi32(even3, odd3), _mm256_sub_epi32(even3, odd3), row[3], row[4]);
}

template <int bits>
[[gnu::always_inline]] inline void vector_pass_of_four(__m128i* row) {
    const __m256i p26 = interleave(row[2], row[6]);
    const __m256i p13 = interleave(row[1], row[3]);
    const __m256i p57 = interleave(row[5], row[7]);
    const __m256i flat = times(interleave(row[0], _mm_setzero_si128()), 16384, 0);
    const __m256i even = times(p26, 15137, -6270);
    const __m256i outer = _mm256_add_epi32(times(p13, 20995, 7373), times(p57, -4926, -4176));
    const __m256i inner = _mm256_add_epi32(times(p13, 8697, -17799), times(p57, 11893, -1730));
    const __m256i even0 = _mm256_add_epi32(flat, even);
    const __m256i even1 = _mm256_sub_epi32(flat, even);
    narrow_rows<bits>(_mm256_add_epi32(even0, outer), _mm256_sub_epi32(even0, outer), row[0], row[3]);
    narrow_rows<bits>(_mm256_add_epi32(even1, inner), _mm256_sub_epi32(even1, inner), row[1], row[2]);
}

template <int bits>
[[gnu::always_inline]] inline void vector_pass_of_two(__m128i* row) {
    const __m256i p13 = interleave(row[1], row[3]);
    const __m256i p57 = interleave(row[5], row[7]);
    const __m256i flat = _mm256_slli_epi32(times(interleave(row[0], _mm_setzero_si128()), 16384, 0), 1);
    const __m256i odd = _mm256_add_epi32(times(p13, 29692, -10426), times(p57, 6967, -5906));
    narrow_rows<bits>(_mm256_add_epi32(flat, odd), _mm256_sub_epi32(flat, odd), row[0], row[1]);
}

[[gnu::always_inline]] inline void transpose_eight(__m128i* row) {
    __m128i pairs[8];
    for (int k = 0; k < 4; ++k) {
        pairs[2 * k] = _mm_unpacklo_epi16(row[2 * k], row[2 * k + 1]);
        pairs[2 * k + 1] = _mm_unpackhi_epi16(row[2 * k], row[2 * k + 1]);
    }
    __m128i fours[8];
    for (int k = 0; k < 2; ++k) {
        fours[4 * k] = _mm_unpacklo_epi32(pairs[4 * k], pairs[4 * k + 2]);
        fours[4 * k + 1] = _mm_unpackhi_epi32(pairs[4 * k], pairs[4 * k + 2]);
        fours[4 * k + 2] = _mm_unpacklo_epi32(pairs[4 * k + 1], pairs[4 * k + 3]);
        fours[4 * k + 3] = _mm_unpackhi_epi32(pairs[4 * k + 1], pairs[4 * k + 3]);
    }
    for (int k = 0; k < 4; ++k) {
        row[2 * k] = _mm_unpacklo_epi64(fours[k], fours[k + 4]);
        row[2 * k + 1] = _mm_unpackhi_epi64(fours[k], fours[k + 4]);
    }
}

// Eight columns of 16-bit samples around zero, as eight rows of bytes.
[[gnu::always_inline]] inline void store_rows(const __m128i* column, std::uint8_t* out, std::size_t stride) {
    const __m128i centre = _mm_set1_epi8(-128);
    __m128i bytes[4];  // columns k and k + 4
    for (int k = 0; k < 4; ++k) bytes[k] = _mm_add_epi8(_mm_packs_epi16(column[k], column[k + 4]), centre);
    const __m128i low02 = _mm_unpacklo_epi8(bytes[0], bytes[2]);  // rows 0-7 of the columns 0, 2
    const __m128i low13 = _mm_unpacklo_epi8(bytes[1], bytes[3]);
    const __m128i high02 = _mm_unpackhi_epi8(bytes[0], bytes[2]);  // of the columns 4, 6
    const __m128i high13 = _mm_unpackhi_epi8(bytes[1], bytes[3]);
    const __m128i left_upper = _mm_unpacklo_epi8(low02, low13);  // rows 0-3 of the columns 0-3
    const __m128i left_lower = _mm_unpackhi_epi8(low02, low13);
    const __m128i right_upper = _mm_unpacklo_epi8(high02, high13);
    const __m128i right_lower = _mm_unpackhi_epi8(high02, high13);
    const __m128i pairs[4] = {
        _mm_unpacklo_epi32(left_upper, right_upper),
        _mm_unpackhi_epi32(left_upper, right_upper),
        _mm_unpacklo_epi32(left_lower, right_lower),
        _mm_unpackhi_epi32(left_lower, right_lower),
    };
    for (int k = 0; k < 4; ++k) {
        auto* upper = reinterpret_cast<__m128i*>(out + static_cast<std::size_t>(2 * k) * stride);
        auto* lower = reinterpret_cast<__m128i*>(out + static_cast<std::size_t>(2 * k + 1) * stride);
        _mm_storel_epi64(upper, pairs[k]);
        _mm_storel_epi64(lower, _mm_unpackhi_epi64(pairs[k], pairs[k]));
    }
}

[[gnu::always_inline]] inline __m128i dequantized(const std::int16_t* block, const std::int16_t* quantization,
                                                  int row) {
    return _mm_mullo_epi16(_mm_load_si128(reinterpret_cast<const __m128i*>(block + 8 * row)),
                           _mm_load_si128(reinterpret_cast<const __m128i*>(quantization + 8 * row)));
}

inline void transform_of_eight(const std::int16_t* block, const std::int16_t* quantization, int last, std::uint8_t* out,
                               std::size_t stride) {
    constexpr int first_bits = constant_bits - spare_bits;
    constexpr int second_bits = constant_bits + spare_bits + 3;
    __m128i row[8];
    if (last < zigzag_of_four) {
        for (int k = 0; k < 4; ++k) row[k] = dequantized(block, quantization, k);
        vector_pass_of_first_four<first_bits>(row);
        transpose_eight(row);
        vector_pass_of_first_four<second_bits>(row);
    } else {
        for (int k = 0; k < 8; ++k) row[k] = dequantized(block, quantization, k);
        vector_pass_of_eight<first_bits>(row);
        transpose_eight(row);
        vector_pass_of_eight<second_bits>(row);
    }
    store_rows(row, out, stride);
}

// To four or two samples a side: `last` does not matter, there is little to save.
template <int side>
inline void transform_reduced(const std::int16_t* block, const std::int16_t* quantization, std::uint8_t* out,
                              std::size_t stride) {
    constexpr int more = side == 4 ? 1 : 2;
    constexpr int first_bits = constant_bits - spare_bits + more;
    constexpr int second_bits = constant_bits + spare_bits + 3 + more;
    __m128i row[8];
    for (int k = 0; k < 8; ++k) row[k] = dequantized(block, quantization, k);
    if constexpr (side == 4) vector_pass_of_four<first_bits>(row);
    if constexpr (side == 2) vector_pass_of_two<first_bits>(row);
    for (int k = side; k < 8; ++k) row[k] = _mm_setzero_si128();
    transpose_eight(row);
    if constexpr (side == 4) vector_pass_of_four<second_bits>(row);
    if constexpr (side == 2) vector_pass_of_two<second_bits>(row);
    for (int k = side; k < 8; ++k) row[k] = _mm_setzero_si128();
    transpose_eight(row);
    const __m128i centre = _mm_set1_epi8(-128);
    for (int k = 0; k < side; ++k) {
        const __m128i samples = _mm_add_epi8(_mm_packs_epi16(row[k], row[k]), centre);
        const long long eight = _mm_cvtsi128_si64(samples);
        __builtin_memcpy(out + static_cast<std::size_t>(k) * stride, &eight, side);
    }
}

[[gnu::always_inline]] inline void vector_transform(const std::int16_t* block, const std::int16_t* quantization,
                                                    int side, int last, std::uint8_t* out, std::size_t stride) {
    if (side == 8) return transform_of_eight(block, quantization, last, out, stride);
    if (side == 4) return transform_reduced<4>(block, quantization, out, stride);
    transform_reduced<2>(block, quantization, out, stride);
}

}  // namespace overnight::OVERNIGHT_ISA
