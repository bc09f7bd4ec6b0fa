// Reading Huffman-coded blocks. No include guard of its own: included once by each instruction set's file.
//
// The chain from one symbol to the next is one table look-up and one shift: a look-up tells how many bits code and
// value take together, so the reader moves on before the value itself is cut out of the bits.

namespace overnight::OVERNIGHT_ISA {

struct BitReader {
    const std::uint8_t* at = nullptr;
    std::uint64_t bits = 0;  // the next bits, from the top
    int count = 0;           // how many of them are valid
};

// At least 56 valid bits, without a branch: whole bytes are taken in, those that do not fit are read again.
[[gnu::always_inline]] inline void refill(BitReader& reader) {
    std::uint64_t next;
    __builtin_memcpy(&next, reader.at, sizeof next);
    reader.bits |= __builtin_bswap64(next) >> reader.count;
    reader.at += (63 - reader.count) >> 3;
    reader.count |= 56;
}

[[gnu::always_inline]] inline void drop(BitReader& reader, int bits) {
    reader.bits <<= bits;
    reader.count -= bits;
}

inline constexpr int moves_shift = 17;
inline constexpr unsigned block_ends = 64;
// Moves further than any block is long, and is not `block_ends`: the caller's test for damage finds it.
inline constexpr Symbol no_code = Symbol{1} << 31 | 16;

[[gnu::noinline]] inline Symbol long_code(const HuffmanTable& table, std::uint64_t bits) {
    const auto code = static_cast<std::int32_t>(bits >> 48);
    for (int length = look_bits + 1; length <= 16; ++length) {
        const std::int32_t prefix = code >> (16 - length);
        if (table.largest[length] < 0 || prefix > table.largest[length]) continue;
        const std::int32_t position = prefix + table.delta[length];
        if (position < 0 || position >= table.total) return no_code;
        const unsigned symbol = table.symbols[position];
        const unsigned value_length = symbol & 15;
        const unsigned run = symbol >> 4;
        unsigned moves = table.for_ac ? run + 1 : 0;
        if (table.for_ac && value_length == 0 && run != 15) moves = block_ends;
        const auto code_length = static_cast<unsigned>(length);
        return (code_length + value_length) | code_length << 8 | value_length << 13 | moves << moves_shift;
    }
    return no_code;
}

[[gnu::always_inline]] inline Symbol look(const HuffmanTable& table, std::uint64_t bits) {
    const Symbol symbol = table.look[bits >> (64 - look_bits)];
    return __builtin_expect(symbol != 0, 1) ? symbol : long_code(table, bits);
}

[[gnu::always_inline]] inline int length_of(Symbol symbol) { return static_cast<int>(symbol & 63); }

// The value that follows the code: `size` bits, which count from the negative end when the first is 0 (T.81, F.2.2.1).
[[gnu::always_inline]] inline int value_of(std::uint64_t bits, Symbol symbol) {
    const std::uint64_t aligned = bits << (symbol >> 8 & 31);
    const int size = static_cast<int>(symbol >> 13 & 15);
    const int magnitude = static_cast<int>(aligned >> 1 >> (63 - size));
    const auto negative = static_cast<int>(~static_cast<std::int64_t>(aligned) >> 63);
    return magnitude - (negative & ((1 << size) - 1));
}

struct ScanState {
    BitReader reader;
    // DC of each component's last block. Unsigned: the differences of a damaged file add up beyond any number.
    unsigned predicted[3] = {};
    Symbol damage = 0;  // bit 31: a code that is none, or a block that is too long
};

[[gnu::always_inline]] inline void note(ScanState& state, bool damaged) {
    state.damage |= static_cast<Symbol>(damaged) << 31;
}

[[gnu::always_inline]] inline std::int16_t dc_of_block(ScanState& state, const HuffmanTable& table, int component) {
    refill(state.reader);
    const Symbol symbol = look(table, state.reader.bits);
    state.damage |= symbol & Symbol{1} << 31;
    state.predicted[component] += static_cast<unsigned>(value_of(state.reader.bits, symbol));
    drop(state.reader, length_of(symbol));
    return static_cast<std::int16_t>(state.predicted[component]);
}

// What a symbol that ends a block means. Returns the zigzag position of the last coefficient that may differ from zero:
// `last`, or the block's end.
[[gnu::always_inline]] inline int end_block(ScanState& state, const BitReader& reader, Symbol symbol, int value,
                                            int position, int last, std::int16_t* block) {
    state.reader = reader;
    if (position == 63) {
        block[63] = static_cast<std::int16_t>(value);
        return 63;
    }
    note(state, symbol >> moves_shift != block_ends);
    return last;
}

// The coefficients that follow `position`.
[[gnu::always_inline]] inline int rest_of_block(ScanState& state, const HuffmanTable& table, BitReader reader,
                                                int position, std::int16_t* block) {
    for (;;) {
        refill(reader);
        // 56 bits are two symbols: a code has at most 16, its value 10 (HuffmanTable::define refuses others).
        for (int twice = 0; twice < 2; ++twice) {
            const Symbol symbol = look(table, reader.bits);
            const int value = value_of(reader.bits, symbol);
            drop(reader, length_of(symbol));
            const int last = position;
            position += static_cast<int>(symbol >> moves_shift);
            if (__builtin_expect(position >= 63, 0)) {
                return end_block(state, reader, symbol, value, position, last, block);
            }
            block[zigzag[position]] = static_cast<std::int16_t>(value);
        }
    }
}

// Fills a block of zeros. Returns the zigzag position of the last coefficient that may differ from zero.
[[gnu::always_inline]] inline int read_block(ScanState& state, const PlaneJob& plane, int component,
                                             std::int16_t* block) {
    block[0] = dc_of_block(state, *plane.dc, component);
    return rest_of_block(state, *plane.ac, state.reader, 0, block);
}

// The same for one block of each of two streams, symbol by symbol in turn: within a stream each symbol must wait until
// the one before has been looked up, and the processor has time for another stream meanwhile.
[[gnu::always_inline]] inline void read_two_blocks(ScanState* state, const PlaneJob& plane, int component,
                                                   std::int16_t* const* block, int* last) {
    for (int i = 0; i < 2; ++i) block[i][0] = dc_of_block(state[i], *plane.dc, component);
    const HuffmanTable& table = *plane.ac;
    BitReader a = state[0].reader;
    BitReader b = state[1].reader;
    int position_a = 0;
    int position_b = 0;
    for (;;) {
        refill(a);
        refill(b);
        for (int twice = 0; twice < 2; ++twice) {
            const Symbol symbol_a = look(table, a.bits);
            const Symbol symbol_b = look(table, b.bits);
            const int value_a = value_of(a.bits, symbol_a);
            const int value_b = value_of(b.bits, symbol_b);
            drop(a, length_of(symbol_a));
            drop(b, length_of(symbol_b));
            const int last_a = position_a;
            const int last_b = position_b;
            position_a += static_cast<int>(symbol_a >> moves_shift);
            position_b += static_cast<int>(symbol_b >> moves_shift);
            if (__builtin_expect(position_a >= 63 || position_b >= 63, 0)) {
                if (position_a >= 63) {
                    last[0] = end_block(state[0], a, symbol_a, value_a, position_a, last_a, block[0]);
                } else {
                    block[0][zigzag[position_a]] = static_cast<std::int16_t>(value_a);
                    last[0] = rest_of_block(state[0], table, a, position_a, block[0]);
                }
                if (position_b >= 63) {
                    last[1] = end_block(state[1], b, symbol_b, value_b, position_b, last_b, block[1]);
                } else {
                    block[1][zigzag[position_b]] = static_cast<std::int16_t>(value_b);
                    last[1] = rest_of_block(state[1], table, b, position_b, block[1]);
                }
                return;
            }
            block[0][zigzag[position_a]] = static_cast<std::int16_t>(value_a);
            block[1][zigzag[position_b]] = static_cast<std::int16_t>(value_b);
        }
    }
}

// Passes over a block, several symbols a look-up: only the DC's running sum is needed from it.
[[gnu::always_inline]] inline void skip_block(ScanState& state, const PlaneJob& plane, int component) {
    dc_of_block(state, *plane.dc, component);
    const HuffmanTable& table = *plane.ac;
    const int shift = 64 - table.skip_width;
    BitReader reader = state.reader;
    int next = 1;
    while (next < 64) {
        refill(reader);
        for (int times = 0; times < 3; ++times) {
            const unsigned some = table.skip[reader.bits >> shift];
            const int moves = static_cast<int>(some >> 5);
            if (__builtin_expect(some != 0 && next + moves < 64, 1)) {
                drop(reader, static_cast<int>(some & 15));
                if (some & 16) {
                    state.reader = reader;
                    return;
                }
                next += moves;
                continue;
            }
            const Symbol symbol = look(table, reader.bits);
            drop(reader, length_of(symbol));
            next += static_cast<int>(symbol >> moves_shift);
            note(state, next > 64 && symbol >> moves_shift != block_ends);
            break;
        }
    }
    state.reader = reader;
}

}  // namespace overnight::OVERNIGHT_ISA
