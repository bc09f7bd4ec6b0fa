// The transforms of transform_plain.hpp on two blocks at once, one in each half of a register: a pair of rows,
// interleaved, meets a pair of constants in one multiply-and-add. The second pass is the first one on the transposed
// block.

namespace overnight::OVERNIGHT_ISA {

// 32-bit sums of four columns, or of a row's columns 0-3 and 4-7.
struct Four {
    __m256i sums;
};
struct Eight {
    Four low;
    Four high;
};

[[gnu::always_inline]] inline Four operator+(Four a, Four b) { return {_mm256_add_epi32(a.sums, b.sums)}; }
[[gnu::always_inline]] inline Four operator-(Four a, Four b) { return {_mm256_sub_epi32(a.sums, b.sums)}; }
[[gnu::always_inline]] inline Eight operator+(Eight a, Eight b) { return {a.low + b.low, a.high + b.high}; }
[[gnu::always_inline]] inline Eight operator-(Eight a, Eight b) { return {a.low - b.low, a.high - b.high}; }

// Of pairs a0 b0 a1 b1 ...: a * first + b * second.
[[gnu::always_inline]] inline Four times(Four pairs, int first, int second) {
    const auto both = static_cast<unsigned>(first & 0xFFFF) | static_cast<unsigned>(second) << 16;
    return {_mm256_madd_epi16(pairs.sums, _mm256_set1_epi32(static_cast<int>(both)))};
}
[[gnu::always_inline]] inline Eight times(Eight pairs, int first, int second) {
    return {times(pairs.low, first, second), times(pairs.high, first, second)};
}

// What is added to a part of every output is added to all: a half, so that cutting bits off rounds.
template <int bits>
[[gnu::always_inline]] inline Four rounding(Four sums) {
    return {_mm256_add_epi32(sums.sums, _mm256_set1_epi32(1 << (bits - 1)))};
}
template <int bits>
[[gnu::always_inline]] inline Eight rounding(Eight sums) {
    return {rounding<bits>(sums.low), rounding<bits>(sums.high)};
}

[[gnu::always_inline]] inline Eight interleave(__m256i a, __m256i b) {
    return {{_mm256_unpacklo_epi16(a, b)}, {_mm256_unpackhi_epi16(a, b)}};
}
[[gnu::always_inline]] inline Four interleave_low(__m256i a, __m256i b) { return {_mm256_unpacklo_epi16(a, b)}; }
[[gnu::always_inline]] inline Four interleave_high(__m256i a, __m256i b) { return {_mm256_unpackhi_epi16(a, b)}; }

template <int bits>
[[gnu::always_inline]] inline __m256i narrow(Four a, Four b) {
    return _mm256_packs_epi32(_mm256_srai_epi32(a.sums, bits), _mm256_srai_epi32(b.sums, bits));
}

// Output k of n is even[k] + odd[k], output n - 1 - k is even[k] - odd[k].
template <int bits, int n>
[[gnu::always_inline]] inline void outputs(const Eight* even, const Eight* odd, __m256i* row) {
    for (int k = 0; k < n / 2; ++k) {
        const Eight sum = even[k] + odd[k];
        const Eight difference = even[k] - odd[k];
        row[k] = narrow<bits>(sum.low, sum.high);
        row[n - 1 - k] = narrow<bits>(difference.low, difference.high);
    }
}
// Of four columns, both in one.
template <int bits, int n>
[[gnu::always_inline]] inline void outputs(const Four* even, const Four* odd, __m256i* pair) {
    for (int k = 0; k < n / 2; ++k) pair[k] = narrow<bits>(even[k] + odd[k], even[k] - odd[k]);
}

template <int bits, class Sums>
[[gnu::always_inline]] inline void parts_of_eight(Sums p04, Sums p26, Sums p13, Sums p57, Sums* even, Sums* odd) {
    const Sums sum = rounding<bits>(times(p04, 8192, 8192));
    const Sums difference = rounding<bits>(times(p04, 8192, -8192));
    const Sums outer = times(p26, 10703, 4433);
    const Sums inner = times(p26, 4433, -10704);
    even[0] = sum + outer;
    even[1] = difference + inner;
    even[2] = difference - inner;
    even[3] = sum - outer;
    odd[0] = times(p13, 11363, 9633) + times(p57, 6437, 2260);
    odd[1] = times(p13, 9633, -2259) + times(p57, -11362, -6436);
    odd[2] = times(p13, 6437, -11362) + times(p57, 2261, 9633);
    odd[3] = times(p13, 2260, -6436) + times(p57, 9633, -11363);
}

// The same where the inputs 4 to 7 are zero, as in most blocks: the pairs are of what is left.
template <int bits, class Sums>
[[gnu::always_inline]] inline void parts_of_first_four(Sums p02, Sums p13, Sums* even, Sums* odd) {
    even[0] = rounding<bits>(times(p02, 8192, 10703));
    even[1] = rounding<bits>(times(p02, 8192, 4433));
    even[2] = rounding<bits>(times(p02, 8192, -4433));
    even[3] = rounding<bits>(times(p02, 8192, -10703));
    odd[0] = times(p13, 11363, 9633);
    odd[1] = times(p13, 9633, -2259);
    odd[2] = times(p13, 6437, -11362);
    odd[3] = times(p13, 2260, -6436);
}

template <int bits, class Sums>
[[gnu::always_inline]] inline void parts_of_four(Sums p0, Sums p26, Sums p13, Sums p57, Sums* even, Sums* odd) {
    const Sums flat = rounding<bits>(times(p0, 16384, 0));
    const Sums bent = times(p26, 15137, -6270);
    even[0] = flat + bent;
    even[1] = flat - bent;
    odd[0] = times(p13, 20995, 7373) + times(p57, -4926, -4176);
    odd[1] = times(p13, 8697, -17799) + times(p57, 11893, -1730);
}

template <int bits, class Sums>
[[gnu::always_inline]] inline void parts_of_two(Sums p0, Sums p13, Sums p57, Sums* even, Sums* odd) {
    const Sums once = times(p0, 16384, 0);
    even[0] = rounding<bits>(once + once);
    odd[0] = times(p13, 29692, -10426) + times(p57, 6967, -5906);
}

// Row `k` of both blocks.
[[gnu::always_inline]] inline __m256i dequantized(const WaitingBlocks& blocks, int k) {
    return _mm256_mullo_epi16(
        of_halves(load_half(blocks.block[0] + 8 * k), load_half(blocks.block[1] + 8 * k)),
        of_halves(load_half(blocks.quantization[0] + 8 * k), load_half(blocks.quantization[1] + 8 * k)));
}

[[gnu::always_inline]] inline void store_two_rows(__m128i rows, std::uint8_t* out, std::size_t stride) {
    _mm_storel_epi64(reinterpret_cast<__m128i*>(out), rows);
    _mm_storeh_pd(reinterpret_cast<double*>(out + stride), _mm_castsi128_pd(rows));
}

// Eight columns of 16-bit samples around zero, as eight rows of bytes.
[[gnu::always_inline]] inline void store_eight(const __m256i* column, const WaitingBlocks& blocks) {
    const __m256i centre = _mm256_set1_epi8(-128);
    __m256i bytes[4];  // columns k and k + 4
    for (int k = 0; k < 4; ++k) bytes[k] = _mm256_add_epi8(_mm256_packs_epi16(column[k], column[k + 4]), centre);
    const __m256i low02 = _mm256_unpacklo_epi8(bytes[0], bytes[2]);  // rows 0-7 of the columns 0, 2
    const __m256i low13 = _mm256_unpacklo_epi8(bytes[1], bytes[3]);
    const __m256i high02 = _mm256_unpackhi_epi8(bytes[0], bytes[2]);  // of the columns 4, 6
    const __m256i high13 = _mm256_unpackhi_epi8(bytes[1], bytes[3]);
    const __m256i left_upper = _mm256_unpacklo_epi8(low02, low13);  // rows 0-3 of the columns 0-3
    const __m256i left_lower = _mm256_unpackhi_epi8(low02, low13);
    const __m256i right_upper = _mm256_unpacklo_epi8(high02, high13);
    const __m256i right_lower = _mm256_unpackhi_epi8(high02, high13);
    const __m256i pairs[4] = {
        _mm256_unpacklo_epi32(left_upper, right_upper),
        _mm256_unpackhi_epi32(left_upper, right_upper),
        _mm256_unpacklo_epi32(left_lower, right_lower),
        _mm256_unpackhi_epi32(left_lower, right_lower),
    };
    for (int k = 0; k < 4; ++k) {
        store_two_rows(lower_half(pairs[k]), blocks.out[0] + 2 * k * blocks.stride[0], blocks.stride[0]);
        store_two_rows(upper_half(pairs[k]), blocks.out[1] + 2 * k * blocks.stride[1], blocks.stride[1]);
    }
}

[[gnu::noinline]] inline void transform_to_eight(const WaitingBlocks& blocks) {
    constexpr int first_bits = constant_bits - spare_bits;
    constexpr int second_bits = constant_bits + spare_bits + 3;
    __m256i row[8];
    Eight even[4];
    Eight odd[4];
    for (int k = 0; k < 8; ++k) row[k] = dequantized(blocks, k);
    parts_of_eight<first_bits>(interleave(row[0], row[4]), interleave(row[2], row[6]), interleave(row[1], row[3]),
                               interleave(row[5], row[7]), even, odd);
    outputs<first_bits, 8>(even, odd, row);
    transpose_halves(row);
    parts_of_eight<second_bits>(interleave(row[0], row[4]), interleave(row[2], row[6]), interleave(row[1], row[3]),
                                interleave(row[5], row[7]), even, odd);
    outputs<second_bits, 8>(even, odd, row);
    store_eight(row, blocks);
}

// From the first four rows and columns alone: four columns in the first pass, four inputs in both.
[[gnu::noinline]] inline void transform_first_four(const WaitingBlocks& blocks) {
    constexpr int first_bits = constant_bits - spare_bits;
    constexpr int second_bits = constant_bits + spare_bits + 3;
    __m256i row[8];
    for (int k = 0; k < 4; ++k) row[k] = dequantized(blocks, k);
    Four even[4];
    Four odd[4];
    parts_of_first_four<first_bits>(interleave_low(row[0], row[2]), interleave_low(row[1], row[3]), even, odd);
    __m256i pair[4];  // rows k and 7 - k
    outputs<first_bits, 8>(even, odd, pair);
    const __m256i rows01 = _mm256_unpacklo_epi16(pair[0], pair[1]);
    const __m256i rows23 = _mm256_unpacklo_epi16(pair[2], pair[3]);
    const __m256i rows45 = _mm256_unpackhi_epi16(pair[3], pair[2]);
    const __m256i rows67 = _mm256_unpackhi_epi16(pair[1], pair[0]);
    const __m256i upper01 = _mm256_unpacklo_epi32(rows01, rows23);  // rows 0-3 of the columns 0 and 1
    const __m256i upper23 = _mm256_unpackhi_epi32(rows01, rows23);
    const __m256i lower01 = _mm256_unpacklo_epi32(rows45, rows67);
    const __m256i lower23 = _mm256_unpackhi_epi32(rows45, rows67);
    const __m256i column0 = _mm256_unpacklo_epi64(upper01, lower01);
    const __m256i column1 = _mm256_unpackhi_epi64(upper01, lower01);
    const __m256i column2 = _mm256_unpacklo_epi64(upper23, lower23);
    const __m256i column3 = _mm256_unpackhi_epi64(upper23, lower23);
    Eight wide_even[4];
    Eight wide_odd[4];
    parts_of_first_four<second_bits>(interleave(column0, column2), interleave(column1, column3), wide_even, wide_odd);
    outputs<second_bits, 8>(wide_even, wide_odd, row);
    store_eight(row, blocks);
}

// `side` rows of `side` bytes, one after another in each half.
template <int side>
[[gnu::always_inline]] inline void store_reduced(__m256i samples, const WaitingBlocks& blocks) {
    alignas(32) std::uint8_t bytes[32];
    _mm256_store_si256(reinterpret_cast<__m256i*>(bytes), samples);
    for (int i = 0; i < 2; ++i) {
        for (int y = 0; y < side; ++y) {
            __builtin_memcpy(blocks.out[i] + y * blocks.stride[i], bytes + 16 * i + 4 * y, side);
        }
    }
}

// To four or two samples a side. The second pass is of four columns: what the first one leaves of a block's rows.
template <int side>
[[gnu::noinline]] inline void transform_reduced(const WaitingBlocks& blocks) {
    constexpr int more = side == 4 ? 1 : 2;
    constexpr int first_bits = constant_bits - spare_bits + more;
    constexpr int second_bits = constant_bits + spare_bits + 3 + more;
    const __m256i none = _mm256_setzero_si256();
    const Eight p0 = interleave(dequantized(blocks, 0), none);
    const Eight p13 = interleave(dequantized(blocks, 1), dequantized(blocks, 3));
    const Eight p57 = interleave(dequantized(blocks, 5), dequantized(blocks, 7));
    Eight even[2];
    Eight odd[2];
    __m256i row[4] = {none, none, none, none};
    if constexpr (side == 4) {
        parts_of_four<first_bits>(p0, interleave(dequantized(blocks, 2), dequantized(blocks, 6)), p13, p57, even, odd);
    } else {
        parts_of_two<first_bits>(p0, p13, p57, even, odd);
    }
    outputs<first_bits, side>(even, odd, row);
    const __m256i left01 = _mm256_unpacklo_epi16(row[0], row[1]);  // of the columns 0-3
    const __m256i left23 = _mm256_unpacklo_epi16(row[2], row[3]);
    const __m256i right01 = _mm256_unpackhi_epi16(row[0], row[1]);
    const __m256i right23 = _mm256_unpackhi_epi16(row[2], row[3]);
    const __m256i columns01 = _mm256_unpacklo_epi32(left01, left23);
    const __m256i columns23 = _mm256_unpackhi_epi32(left01, left23);
    const __m256i columns45 = _mm256_unpacklo_epi32(right01, right23);
    const __m256i columns67 = _mm256_unpackhi_epi32(right01, right23);
    const Four q0 = interleave_low(columns01, none);
    const Four q13 = interleave_high(columns01, columns23);
    const Four q57 = interleave_high(columns45, columns67);
    Four last_even[2];
    Four last_odd[2];
    __m256i pair[2] = {none, none};  // columns k and side - 1 - k
    if constexpr (side == 4) {
        parts_of_four<second_bits>(q0, interleave_low(columns23, columns67), q13, q57, last_even, last_odd);
    } else {
        parts_of_two<second_bits>(q0, q13, q57, last_even, last_odd);
    }
    outputs<second_bits, side>(last_even, last_odd, pair);
    __m256i outer = pair[0];  // columns 0 and 3
    __m256i inner = pair[1];  // columns 1 and 2
    if constexpr (side == 2) {
        inner = _mm256_srli_si256(pair[0], 8);  // column 1
        outer = pair[0];
    }
    const __m256i columns_01 = _mm256_unpacklo_epi16(outer, inner);
    const __m256i columns_23 = _mm256_unpackhi_epi16(inner, outer);
    const __m256i rows01 = _mm256_unpacklo_epi32(columns_01, columns_23);
    const __m256i rows23 = _mm256_unpackhi_epi32(columns_01, columns_23);
    store_reduced<side>(_mm256_add_epi8(_mm256_packs_epi16(rows01, rows23), _mm256_set1_epi8(-128)), blocks);
}

inline void transform(Transform kind, const WaitingBlocks& blocks) {
    switch (kind) {
        case Transform::first_four: return transform_first_four(blocks);
        case Transform::eight: return transform_to_eight(blocks);
        case Transform::four: return transform_reduced<4>(blocks);
        case Transform::two: return transform_reduced<2>(blocks);
    }
}

}  // namespace overnight::OVERNIGHT_ISA
