// Huffman tables as the decoder uses them: one look at the next ten bits tells a symbol's whole effect.
#pragma once

#include <cstddef>
#include <cstdint>

namespace overnight {

inline constexpr int look_bits = 10;
inline constexpr int skip_bits = 13;
inline constexpr int first_skip_bits = 10;

// One symbol: bits 0-5 its whole length (code and value), 8-12 the code's length, 13-16 the value's, from 17 on how
// far it moves along the zigzag (64: the block ends). 0: the code is longer than `look_bits`.
using Symbol = std::uint32_t;

struct HuffmanTable {
    Symbol look[1 << look_bits];
    // Several symbols at once, for blocks that nobody wants: bits 0-3 their length, bit 4 the block ends, from 5 on
    // the coefficients passed. 0: decode one symbol the ordinary way.
    std::uint16_t skip[1 << skip_bits];
    int skip_width = 0;  // bits that `skip` is made for; 0: not made yet

    // For codes longer than `look_bits`: the largest code of each length, and what leads from a code to its symbol.
    std::int32_t largest[17];
    std::int32_t delta[17];

    std::uint8_t counts[17] = {};
    std::uint8_t symbols[256] = {};
    int total = 0;
    int times_used = 0;
    bool for_ac = false;
    bool usable = false;  // defined at all, and consistent

    // Takes over a definition: `counts` of codes of 1 to 16 bits, then the symbols. Costs nothing when it is the one
    // that is there already, as in most files of a camera or a program. False: no prefix code, or no DC table.
    bool define(const std::uint8_t* new_counts, const std::uint8_t* new_symbols, int new_total, bool ac);

    // Makes `skip`. The large table costs as much as decoding a small picture, so it waits until a table has come
    // back: many programs write tables of their own into each file.
    void prepare_skip();

private:
    bool build();
    void build_skip(int width);
};

}  // namespace overnight
