// How libjpeg's errors and warnings become a Status, and how much memory it may take. An error jumps out of libjpeg to
// where `escape` was set: between there and the call there must be no object with a destructor.
#pragma once

#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <jpeglib.h>

#include "status.hpp"

namespace overnight {

// libjpeg's error manager with what ours adds; `base` comes first, so that a pointer to one is a pointer to both.
struct JpegErrors {
    jpeg_error_mgr base{};
    std::jmp_buf escape{};
    Status error = Status::ok;
    bool premature_end = false;
    bool damaged = false;
    jpeg_progress_mgr progress{};

    // Both to be called before a picture's first use; the second stops a file of endlessly many scans.
    jpeg_error_mgr* manager() noexcept;
    jpeg_progress_mgr* scan_limit() noexcept;

    // What was found since the last `forget`.
    Status outcome() const noexcept;
    void forget() noexcept;
};

// The most memory that a sound file of so many bytes can need, to be told to libjpeg before a picture's header is read
// (more is an error there: Status::too_large). Without it a progressive file of a few hundred bytes that claims the
// largest picture would take 1.2 GB.
long memory_for(std::size_t file_bytes) noexcept;

}  // namespace overnight
