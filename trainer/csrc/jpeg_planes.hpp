// libjpeg-turbo's planes before upsampling and colour: what the own decoder's must equal. For tests and tools.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "status.hpp"

namespace overnight {

struct LibjpegPlane {
    int side = 8;  // libjpeg chooses each component's scale: chroma of half size is decoded larger
    int width = 0;
    int height = 0;
    std::vector<std::uint8_t> samples;  // height x width
};

// The planes of a whole picture at `eighths` / 8.
Status libjpeg_planes(std::span<const std::uint8_t> file, int eighths, std::vector<LibjpegPlane>& planes);

}  // namespace overnight
