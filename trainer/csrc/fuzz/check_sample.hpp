// What must hold of any bytes that claim to be a picture.
#pragma once

#include <cstdint>
#include <span>

namespace overnight {

// Makes samples of `file` every way there is: no step may leave its memory, every instruction set must give the same
// bits, and the same maker again the same as before. Raises std::logic_error where that does not hold.
void check_sample(std::span<const std::uint8_t> file);

// Whether a valid file's planes by the own decoder, at every scale and by every instruction set, are libjpeg's. False:
// the file is none that both read. Raises likewise.
bool check_planes(std::span<const std::uint8_t> file);

}  // namespace overnight
