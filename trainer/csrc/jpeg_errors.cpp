#include "jpeg_errors.hpp"

#include <jerror.h>

namespace overnight {
namespace {

// A progressive file may hold any number of scans, each as slow as a whole picture.
constexpr int max_scans = 200;

JpegErrors& errors_of(j_common_ptr picture) { return *reinterpret_cast<JpegErrors*>(picture->err); }

Status status_of_error(int code) {
    switch (code) {
        case JERR_NO_SOI: return Status::not_a_jpeg;
        case JERR_INPUT_EMPTY: return Status::empty;
        case JERR_OUT_OF_MEMORY: return Status::out_of_memory;
        case JERR_NO_BACKING_STORE:  // where libjpeg would need a file, having no more memory left of what it may take
        case JERR_IMAGE_TOO_BIG: return Status::too_large;
        case JERR_BAD_PRECISION:
        case JERR_SOF_UNSUPPORTED:
        case JERR_ARITH_NOTIMPL:
        case JERR_NOT_COMPILED:
        case JERR_CONVERSION_NOTIMPL:
        case JERR_COMPONENT_COUNT: return Status::unsupported;
        default: return Status::corrupt;
    }
}

[[noreturn]] void on_error(j_common_ptr picture) {
    auto& errors = errors_of(picture);
    errors.error = errors.premature_end ? Status::truncated : status_of_error(errors.base.msg_code);
    std::longjmp(errors.escape, 1);
}

void on_message(j_common_ptr picture, int level) {
    if (level >= 0) return;  // trace messages
    auto& errors = errors_of(picture);
    switch (errors.base.msg_code) {
        case JWRN_JPEG_EOF: errors.premature_end = true; break;
        // Common in photographs from the web, and the pixels are right: padding before a marker, an odd Adobe
        // or JFIF version, bytes after the last row.
        case JWRN_EXTRANEOUS_DATA:
        case JWRN_ADOBE_XFORM:
        case JWRN_JFIF_MAJOR:
        case JWRN_TOO_MUCH_DATA: break;
        default: errors.damaged = true;
    }
}

void on_progress(j_common_ptr picture) {
    if (reinterpret_cast<j_decompress_ptr>(picture)->input_scan_number <= max_scans) return;
    auto& errors = errors_of(picture);
    errors.error = Status::corrupt;
    std::longjmp(errors.escape, 1);
}

void silent(j_common_ptr) {}

}  // namespace

jpeg_error_mgr* JpegErrors::manager() noexcept {
    jpeg_std_error(&base);
    base.error_exit = on_error;
    base.emit_message = on_message;
    base.output_message = silent;
    return &base;
}

jpeg_progress_mgr* JpegErrors::scan_limit() noexcept {
    progress.progress_monitor = on_progress;
    return &progress;
}

Status JpegErrors::outcome() const noexcept {
    if (error != Status::ok) return error;
    if (premature_end) return Status::truncated;
    return damaged ? Status::corrupt : Status::ok;
}

void JpegErrors::forget() noexcept {
    error = Status::ok;
    premature_end = false;
    damaged = false;
}

// Each block of each component has at least one Huffman code of one bit in the file. In memory it is 128 bytes of
// coefficients, and its pixels are at most 410 bytes: components of CMYK that are sampled 4 x 1, 1 x 4 and twice 1 x 1
// have ten blocks for 1,024 pixels. So a byte of a file stands for at most 8 * 410 bytes. The rest is for blocks beyond
// the picture's edges (25 MB where a side has 65,500 pixels) and for rows.
long memory_for(std::size_t file_bytes) noexcept {
    constexpr std::size_t rest = std::size_t{64} << 20;
    constexpr std::size_t of_a_byte = 4096;
    return static_cast<long>(rest + of_a_byte * file_bytes);
}

}  // namespace overnight
