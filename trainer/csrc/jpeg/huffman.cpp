#include "huffman.hpp"

#include <cstring>
#include <memory>

namespace overnight {
namespace {

constexpr int block_ends = 64;
constexpr int uses_before_the_large_table = 3;

// How far a symbol moves along the zigzag.
int advance(int symbol, bool ac) {
    if (!ac) return 0;
    const int run = symbol >> 4;
    const bool has_value = (symbol & 15) != 0;
    if (!has_value && run != 15) return block_ends;
    return run + 1;
}

Symbol entry(int code_length, int symbol, bool ac) {
    const int value_length = symbol & 15;
    return static_cast<Symbol>((code_length + value_length) | code_length << 8 | value_length << 13 |
                               advance(symbol, ac) << 17);
}

}  // namespace

bool HuffmanTable::define(const std::uint8_t* new_counts, const std::uint8_t* new_symbols, int new_total, bool ac) {
    const auto size = static_cast<std::size_t>(new_total);
    if (total == new_total && for_ac == ac && total > 0 && std::memcmp(counts + 1, new_counts, 16) == 0 &&
        std::memcmp(symbols, new_symbols, size) == 0) {
        return usable = true;
    }
    std::memcpy(counts + 1, new_counts, 16);
    std::memset(symbols, 0, sizeof symbols);
    std::memcpy(symbols, new_symbols, size);
    total = new_total;
    for_ac = ac;
    skip_width = 0;
    times_used = 0;
    usable = build();
    if (!usable) total = 0;
    return usable;
}

bool HuffmanTable::build() {
    std::memset(look, 0, sizeof look);
    int code = 0;
    int position = 0;
    for (int length = 1; length <= 16; ++length) {
        delta[length] = position - code;
        for (int i = 0; i < counts[length]; ++i, ++code, ++position) {
            const int symbol = symbols[position];
            // The longest values of 8-bit pictures (T.81, tables F.1 and F.2). The reader counts on it: after one
            // refill there are bits for two codes of 16 with their values.
            if ((symbol & 15) > (for_ac ? 10 : 11) || (!for_ac && symbol > 15)) return false;
            if (length > look_bits) continue;
            const int spare = look_bits - length;
            if (code >= 1 << length) return false;  // inside the loop too: it writes
            for (int k = 0; k < 1 << spare; ++k) look[(code << spare) + k] = entry(length, symbol, for_ac);
        }
        // More codes than the length has room for; none may be all ones (T.81, annex C).
        if (code >= 1 << length) return false;
        largest[length] = counts[length] > 0 ? code - 1 : -1;
        code <<= 1;
    }
    return position == total && total > 0;
}

void HuffmanTable::prepare_skip() {
    ++times_used;
    const int width = times_used >= uses_before_the_large_table ? skip_bits : first_skip_bits;
    if (skip_width < width) build_skip(width);
}

void HuffmanTable::build_skip(int width) {
    const std::size_t entries = std::size_t{1} << width;
    // What the first symbol alone does, in the form of `skip`; 0 when it does not fit.
    const auto first = std::make_unique<std::uint16_t[]>(entries);
    int code = 0;
    int position = 0;
    for (int length = 1; length <= width; ++length, code <<= 1) {
        for (int i = 0; i < counts[length]; ++i, ++code, ++position) {
            const int whole = length + (symbols[position] & 15);
            if (whole > width) continue;
            const int moves = advance(symbols[position], true);
            const int word = moves == block_ends ? whole | 16 : whole | moves << 5;
            const int spare = width - length;
            for (int k = 0; k < 1 << spare; ++k) first[(code << spare) + k] = static_cast<std::uint16_t>(word);
        }
    }
    const int mask = static_cast<int>(entries) - 1;
    for (int i = 0; i <= mask; ++i) {
        int length = first[i] & 15;
        int moves = first[i] >> 5;
        bool ends = (first[i] & 16) != 0;
        while (length > 0 && !ends) {
            const int next = first[i << length & mask];
            if (next == 0 || (next & 15) + length > width) break;
            length += next & 15;
            moves += next >> 5;
            ends = (next & 16) != 0;
        }
        skip[i] = static_cast<std::uint16_t>(length | (ends ? 16 : 0) | moves << 5);
    }
    skip_width = width;
}

}  // namespace overnight
