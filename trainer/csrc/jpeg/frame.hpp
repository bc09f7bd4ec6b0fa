// What the markers before the coded data say: size, components, tables, where the data begins.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "huffman.hpp"

namespace overnight {

struct Component {
    int across = 1;  // blocks of a unit (MCU), horizontally and vertically: the sampling factors
    int down = 1;
    int quantization = 0;
    int dc = 0;
    int ac = 0;
};

struct Frame {
    int width = 0;
    int height = 0;
    int components = 0;  // 1: grey, 3: YCbCr
    Component component[3];
    int max_across = 1;
    int max_down = 1;
    int restart_interval = 0;  // units between restart markers; 0: none
    std::size_t data = 0;      // offset of the coded data

    int units_across() const { return (width + 8 * max_across - 1) / (8 * max_across); }
    int units_down() const { return (height + 8 * max_down - 1) / (8 * max_down); }
};

// Tables stay from file to file: those of a camera or a program are always the same ones.
struct Tables {
    alignas(32) std::int16_t quantization[4][64];  // in the order of rows, not of the zigzag
    bool quantization_defined[4];
    HuffmanTable dc[4];
    HuffmanTable ac[4];
};

// Where the zigzag leads: its n-th coefficient's place in the rows of a block. Longer than a block, so that a stream
// that runs over its end stays inside.
extern const std::uint8_t zigzag[80];

// Reads the markers of `file` up to its first scan. False: not a file that the own decoder reads (progressive,
// arithmetic, 12 bits, CMYK, RGB, several scans, odd sampling, or anything unexpected at all): libjpeg decides.
bool read_frame(std::span<const std::uint8_t> file, Frame& frame, Tables& tables);

}  // namespace overnight
