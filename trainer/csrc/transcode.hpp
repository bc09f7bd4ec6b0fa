// Rewriting a JPEG without touching its picture: the same coefficients, coded in one sequential scan with restart
// markers, so that a decoder can jump over rows that a crop does not need.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "status.hpp"

namespace overnight {

// libjpeg-turbo's version, which decides the rewritten bytes.
const char* libjpeg_version() noexcept;

// Writes `file` anew into `out` (which is only to be used when the status is ok), with a restart marker after every
// `rows_per_restart` rows of units (0: none). Of the markers only what decoding needs is kept: JFIF, Adobe, the colour
// profile. Standard Huffman tables stay where the file has them; else they are made for the picture. Rewriting a
// rewritten file gives the same bytes.
//
// ok only when the new file, read again, holds the old coefficients; decoders_disagree when it does not. unsupported:
// the picture does not fit into one sequential scan (or is 12-bit, arithmetic, lossless, of two components).
Status rewrite(std::span<const std::uint8_t> file, int rows_per_restart, std::vector<std::uint8_t>& out);

// Whether the own decoder's planes at full size are libjpeg's, sample by sample: ok or decoders_disagree, or what is
// wrong with the file. Files that the own decoder leaves to libjpeg have one decoder, which agrees with itself.
Status decoders_agree(std::span<const std::uint8_t> file);

}  // namespace overnight
