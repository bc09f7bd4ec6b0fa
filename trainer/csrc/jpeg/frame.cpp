#include "frame.hpp"

#include <algorithm>
#include <cstring>

namespace overnight {

const std::uint8_t zigzag[80] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,  12, 19, 26, 33,
                                 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28, 35, 42, 49, 56, 57, 50, 43, 36,
                                 29, 22, 15, 23, 30, 37, 44, 51, 58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54,
                                 47, 55, 62, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63, 63};

namespace {

using Segment = std::span<const std::uint8_t>;

constexpr int max_blocks_of_a_unit = 10;  // ITU T.81, B.2.3
constexpr int max_side = 65500;           // libjpeg's limit

int sixteen(const std::uint8_t* at) { return at[0] << 8 | at[1]; }

struct Reading {
    Frame& frame;
    Tables& tables;
    std::uint8_t ids[3] = {};
    bool jfif = false;
    int adobe_transform = -1;  // -1: no such marker
};

bool read_quantization(Reading& reading, Segment segment) {
    while (!segment.empty()) {
        const int slot = segment[0] & 15;
        if (segment[0] >> 4 != 0 || slot > 3 || segment.size() < 65) return false;
        for (std::size_t k = 0; k < 64; ++k) reading.tables.quantization[slot][zigzag[k]] = segment[k + 1];
        reading.tables.quantization_defined[slot] = true;
        segment = segment.subspan(65);
    }
    return true;
}

bool read_huffman(Reading& reading, Segment segment) {
    while (!segment.empty()) {
        if (segment.size() < 17) return false;
        const int kind = segment[0] >> 4;
        const int slot = segment[0] & 15;
        int total = 0;
        for (std::size_t k = 1; k <= 16; ++k) total += segment[k];
        if (kind > 1 || slot > 3 || total > 256 || segment.size() < 17 + static_cast<std::size_t>(total)) return false;
        HuffmanTable& table = kind == 1 ? reading.tables.ac[slot] : reading.tables.dc[slot];
        if (!table.define(segment.data() + 1, segment.data() + 17, total, kind == 1)) return false;
        segment = segment.subspan(17 + static_cast<std::size_t>(total));
    }
    return true;
}

bool read_size(Reading& reading, Segment segment) {
    Frame& frame = reading.frame;
    if (frame.components != 0 || segment.size() < 6 || segment[0] != 8) return false;
    frame.height = sixteen(&segment[1]);
    frame.width = sixteen(&segment[3]);
    frame.components = segment[5];
    if (frame.components != 1 && frame.components != 3) return false;
    if (frame.width == 0 || frame.height == 0 || frame.width > max_side || frame.height > max_side) return false;
    if (segment.size() != 6 + 3 * static_cast<std::size_t>(frame.components)) return false;
    int blocks = 0;
    for (int k = 0; k < frame.components; ++k) {
        const std::uint8_t* said = &segment[6 + 3 * static_cast<std::size_t>(k)];
        Component& component = frame.component[k];
        reading.ids[k] = said[0];
        component.across = said[1] >> 4;
        component.down = said[1] & 15;
        component.quantization = said[2];
        if (component.across < 1 || component.across > 2 || component.down < 1 || component.down > 2) return false;
        if (component.quantization > 3) return false;
        blocks += component.across * component.down;
        frame.max_across = std::max(frame.max_across, component.across);
        frame.max_down = std::max(frame.max_down, component.down);
    }
    // A scan of one component goes block by block, whatever its sampling factors say.
    if (frame.components == 1) {
        frame.component[0].across = frame.component[0].down = frame.max_across = frame.max_down = 1;
    }
    return blocks <= max_blocks_of_a_unit;
}

bool read_scan(Reading& reading, Segment segment) {
    Frame& frame = reading.frame;
    const auto components = static_cast<std::size_t>(frame.components);
    if (components == 0 || segment.size() != 4 + 2 * components || segment[0] != frame.components) return false;
    for (std::size_t k = 0; k < components; ++k) {
        Component& component = frame.component[k];
        if (segment[1 + 2 * k] != reading.ids[k]) return false;
        component.dc = segment[2 + 2 * k] >> 4;
        component.ac = segment[2 + 2 * k] & 15;
        if (component.dc > 3 || component.ac > 3) return false;
        if (!reading.tables.quantization_defined[component.quantization]) return false;
        if (!reading.tables.dc[component.dc].usable || !reading.tables.ac[component.ac].usable) return false;
    }
    const std::uint8_t* spectrum = &segment[1 + 2 * components];
    return spectrum[0] == 0 && spectrum[1] == 63 && spectrum[2] == 0;
}

// As libjpeg tells: JFIF is YCbCr; else Adobe's marker says; else the component's names may be the letters R, G, B.
bool is_ycbcr(const Reading& reading) {
    if (reading.frame.components == 1 || reading.jfif) return true;
    if (reading.adobe_transform >= 0) return reading.adobe_transform == 1;
    return std::memcmp(reading.ids, "RGB", 3) != 0;
}

void read_application(Reading& reading, int marker, Segment segment) {
    if (marker == 0xE0 && segment.size() >= 14 && std::memcmp(segment.data(), "JFIF", 5) == 0) reading.jfif = true;
    if (marker == 0xEE && segment.size() >= 12 && std::memcmp(segment.data(), "Adobe", 5) == 0) {
        reading.adobe_transform = segment[11];
    }
}

void forget(Tables& tables) {
    for (int k = 0; k < 4; ++k) {
        tables.quantization_defined[k] = false;
        tables.dc[k].usable = false;
        tables.ac[k].usable = false;
    }
}

// One marker segment; false: not ours.
bool take(Reading& reading, int marker, Segment segment) {
    switch (marker) {
        case 0xDB: return read_quantization(reading, segment);
        case 0xC4: return read_huffman(reading, segment);
        case 0xC0:
        case 0xC1: return read_size(reading, segment);
        case 0xDD:
            if (segment.size() != 2) return false;
            reading.frame.restart_interval = sixteen(segment.data());
            return true;
        case 0xFE: return true;
        default: read_application(reading, marker, segment); return marker >= 0xE0 && marker <= 0xEF;
    }
}

}  // namespace

bool read_frame(std::span<const std::uint8_t> file, Frame& frame, Tables& tables) {
    frame = Frame{};
    forget(tables);
    Reading reading{.frame = frame, .tables = tables};
    if (file.size() < 4 || file[0] != 0xFF || file[1] != 0xD8) return false;
    std::size_t at = 2;
    while (at + 4 <= file.size()) {
        if (file[at] != 0xFF) return false;
        const int marker = file[at + 1];
        if (marker == 0xFF) {
            ++at;
            continue;
        }
        const auto length = static_cast<std::size_t>(sixteen(&file[at + 2]));
        if (length < 2 || at + 2 + length > file.size()) return false;
        const Segment segment = file.subspan(at + 4, length - 2);
        at += 2 + length;
        if (marker == 0xDA) {
            frame.data = at;
            return read_scan(reading, segment) && is_ycbcr(reading);
        }
        if (!take(reading, marker, segment)) return false;
    }
    return false;
}

}  // namespace overnight
