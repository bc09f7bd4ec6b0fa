// The inverse cosine transform, plainly: what the vector versions must equal to the last bit.
//
// The factorization is Loeffler, Ligtenberg and Moschytz's with 13-bit constants, two passes with 2 spare bits
// between them: libjpeg's "slow integer" transform and its reduced relatives, so the samples are libjpeg's. Here the
// butterflies are multiplied out: each output is a sum of inputs times sums of those constants, which is the same
// integer and suits instructions that multiply and add pairs.

namespace overnight::OVERNIGHT_ISA {

// The first ten coefficients of the zigzag lie in a block's first four rows and columns.
inline constexpr int zigzag_of_four = 10;

inline constexpr int constant_bits = 13;
inline constexpr int spare_bits = 2;

// Sums wrap around, as those of vector instructions do: damaged files can make them larger than 32 bits.
using Wrapping = std::uint32_t;

[[gnu::always_inline]] inline std::int32_t descale(Wrapping value, int bits) {
    return static_cast<std::int32_t>(value + (Wrapping{1} << (bits - 1))) >> bits;
}

[[gnu::always_inline]] inline std::int16_t to_sixteen(std::int32_t value) {
    return static_cast<std::int16_t>(value < -32768 ? -32768 : value > 32767 ? 32767 : value);
}

[[gnu::always_inline]] inline std::uint8_t to_sample(std::int32_t value) {
    const std::int32_t centred = value + 128;
    return static_cast<std::uint8_t>(centred < 0 ? 0 : centred > 255 ? 255 : centred);
}

// Eight inputs to eight outputs, `bits` too large.
[[gnu::always_inline]] inline void pass_of_eight(const Wrapping* in, std::int32_t* out, int bits) {
    const Wrapping sum = (in[0] + in[4]) * 8192;
    const Wrapping difference = (in[0] - in[4]) * 8192;
    const Wrapping wide = in[2] * 10703 + in[6] * 4433;
    const Wrapping narrow = in[2] * 4433 - in[6] * 10704;
    const Wrapping even[4] = {sum + wide, difference + narrow, difference - narrow, sum - wide};
    const Wrapping odd[4] = {
        in[1] * 11363 + in[3] * 9633 + in[5] * 6437 + in[7] * 2260,
        in[1] * 9633 - in[3] * 2259 - in[5] * 11362 - in[7] * 6436,
        in[1] * 6437 - in[3] * 11362 + in[5] * 2261 + in[7] * 9633,
        in[1] * 2260 - in[3] * 6436 + in[5] * 9633 - in[7] * 11363,
    };
    for (int k = 0; k < 4; ++k) {
        out[k] = descale(even[k] + odd[k], bits);
        out[7 - k] = descale(even[k] - odd[k], bits);
    }
}

// Eight inputs to four outputs; the fourth input plays no part.
[[gnu::always_inline]] inline void pass_of_four(const Wrapping* in, std::int32_t* out, int bits) {
    const Wrapping flat = in[0] * 16384;
    const Wrapping even = in[2] * 15137 - in[6] * 6270;
    const Wrapping outer = in[1] * 20995 + in[3] * 7373 - in[5] * 4926 - in[7] * 4176;
    const Wrapping inner = in[1] * 8697 - in[3] * 17799 + in[5] * 11893 - in[7] * 1730;
    out[0] = descale(flat + even + outer, bits);
    out[3] = descale(flat + even - outer, bits);
    out[1] = descale(flat - even + inner, bits);
    out[2] = descale(flat - even - inner, bits);
}

// Eight inputs to two outputs; of the even ones only the first plays a part.
[[gnu::always_inline]] inline void pass_of_two(const Wrapping* in, std::int32_t* out, int bits) {
    const Wrapping flat = in[0] * 32768;
    const Wrapping odd = in[1] * 29692 - in[3] * 10426 + in[5] * 6967 - in[7] * 5906;
    out[0] = descale(flat + odd, bits);
    out[1] = descale(flat - odd, bits);
}

template <int side>
inline void transform_plain(const std::int16_t* block, const std::int16_t* quantization, std::uint8_t* out,
                            std::size_t stride) {
    constexpr int more = side == 8 ? 0 : side == 4 ? 1 : 2;  // the reduced passes carry constants so much larger
    constexpr auto pass = side == 8 ? pass_of_eight : side == 4 ? pass_of_four : pass_of_two;
    std::int16_t between[side][8];
    for (int x = 0; x < 8; ++x) {
        Wrapping in[8];
        std::int32_t made[side];
        for (int y = 0; y < 8; ++y) {
            // Sixteen bits, as the vector instructions multiply: only damaged files need more.
            in[y] = static_cast<Wrapping>(static_cast<std::int16_t>(block[8 * y + x] * quantization[8 * y + x]));
        }
        pass(in, made, constant_bits - spare_bits + more);
        for (int y = 0; y < side; ++y) between[y][x] = to_sixteen(made[y]);
    }
    for (int y = 0; y < side; ++y) {
        Wrapping in[8];
        std::int32_t made[side];
        for (int x = 0; x < 8; ++x) in[x] = static_cast<Wrapping>(between[y][x]);
        pass(in, made, constant_bits + spare_bits + 3 + more);
        for (int x = 0; x < side; ++x) out[static_cast<std::size_t>(y) * stride + x] = to_sample(made[x]);
    }
}

#if !defined(OVERNIGHT_VECTOR_TRANSFORM)
inline void transform(Transform kind, const WaitingBlocks& blocks) {
    const auto of = [&](auto plain) {
        plain(blocks.block[0], blocks.quantization[0], blocks.out[0], blocks.stride[0]);
    };
    switch (kind) {
        case Transform::first_four:
        case Transform::eight: return of(transform_plain<8>);
        case Transform::four: return of(transform_plain<4>);
        case Transform::two: return of(transform_plain<2>);
    }
}
#endif

}  // namespace overnight::OVERNIGHT_ISA
