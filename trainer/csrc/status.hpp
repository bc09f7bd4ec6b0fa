// What can be wrong with one sample. A status, not an exception: one bad picture among a billion is an ordinary event.
#pragma once

#include <cstdint>

namespace overnight {

enum class Status : std::uint8_t {
    ok,
    empty,        // no bytes
    not_a_jpeg,   // PNG, WebP, text, ...
    truncated,    // the bytes end before the picture does
    corrupt,      // the decoder found damage
    unsupported,  // 12-bit, arithmetic or lossless coding, two components
    too_large,    // more pixels or bytes than the limits below
    wrong_size,   // width and height differ from what the caller was told, or the box leaves the picture
    unreadable,   // the file cannot be opened or read
    out_of_memory,
    cancelled,          // the pool closed before the sample's turn
    decoders_disagree,  // the own decoder's planes are not libjpeg's, or a rewrite changed a coefficient
    count
};

// The status in words, as it appears in reports: "not-a-jpeg".
const char* status_name(Status status) noexcept;

// A picture beyond these is refused before memory is spent on it.
inline constexpr std::int64_t max_pixels = 200'000'000;
inline constexpr std::int64_t max_file_bytes = std::int64_t{1} << 30;

}  // namespace overnight
