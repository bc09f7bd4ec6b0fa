// The seam between "bytes of a picture" and "pixels of a region", for exact samples and for what the own decoder
// leaves: libjpeg-turbo stands behind it (jpeg_decoder.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "status.hpp"

namespace overnight {

struct Header {
    int width = 0;
    int height = 0;
    bool scalable = true;  // false: a scaled decode would not look like the full one made smaller
};

// Half-open rectangle in pixels of the picture at the scale asked for.
struct Region {
    int left = 0;
    int top = 0;
    int right = 0;
    int bottom = 0;
};

// Decoded samples, interleaved. `origin` is the region's first sample; memory belongs to the decoder and stays
// valid until its next call.
struct Pixels {
    const std::uint8_t* origin = nullptr;
    std::size_t stride = 0;  // bytes from a row to the next
    int channels = 0;        // 1 (grey) or 3 (RGB)
};

// Decodes one picture after the other; not shared between threads.
class Decoder {
public:
    virtual ~Decoder() = default;

    // Reads the header of `file`, which must stay alive until the picture's `decode` has returned.
    virtual Status read_header(std::span<const std::uint8_t> file, Header& header) = 0;

    // Decodes `region` of the picture scaled to `eighths`/8 (1, 2, 4 or 8): the same samples as decoding all of it
    // and cutting the region out. At most once after each `read_header`.
    virtual Status decode(int eighths, const Region& region, Pixels& pixels) = 0;
};

}  // namespace overnight
