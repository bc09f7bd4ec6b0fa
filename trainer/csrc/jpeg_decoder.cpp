#include "jpeg_decoder.hpp"

#include <algorithm>

namespace overnight {
namespace {

// Columns decoded beside the region: upsampling of chroma mixes neighbours, and at the rim of what is decoded the
// neighbour is missing. Four luma columns hold at least one chroma sample of every subsampling in use.
constexpr int margin = 4;

bool starts_like_a_jpeg(std::span<const std::uint8_t> file) {
    return file.size() >= 3 && file[0] == 0xFF && file[1] == 0xD8 && file[2] == 0xFF;
}

// Whether an end-of-image marker follows. Inside the coded data 0xFF is never followed by 0xD9, so a file that was
// cut off has none there, however few of its rows are needed.
bool has_end_marker(const std::uint8_t* begin, const std::uint8_t* end) {
    for (const auto* at = end - 2; at >= begin; --at) {
        if (at[0] == 0xFF && at[1] == 0xD9) return true;
    }
    return false;
}

// Scaled dimension as libjpeg rounds it.
int scaled(JDIMENSION length, int eighths) {
    return static_cast<int>((static_cast<std::int64_t>(length) * eighths + 7) / 8);
}

std::uint8_t times(unsigned a, unsigned b) { return static_cast<std::uint8_t>((a * b + 127) / 255); }

}  // namespace

JpegDecoder::JpegDecoder() { picture_.err = errors_.manager(); }

JpegDecoder::~JpegDecoder() { jpeg_destroy_decompress(&picture_); }

bool JpegDecoder::step_read_header(const std::uint8_t* data, std::size_t size) noexcept {
    if (setjmp(errors_.escape)) return false;
    // Anew for each picture: libjpeg keeps tables, and a file that lacks some would be read with its predecessor's.
    jpeg_destroy_decompress(&picture_);
    jpeg_create_decompress(&picture_);
    picture_.progress = errors_.scan_limit();
    picture_.mem->max_memory_to_use = memory_for(size);
    jpeg_mem_src(&picture_, data, static_cast<unsigned long>(size));
    return jpeg_read_header(&picture_, TRUE) == JPEG_HEADER_OK;
}

bool JpegDecoder::step_start() noexcept {
    if (setjmp(errors_.escape)) return false;
    return jpeg_start_decompress(&picture_);
}

bool JpegDecoder::step_window(JDIMENSION* left, JDIMENSION* width, JDIMENSION skip) noexcept {
    if (setjmp(errors_.escape)) return false;
    if (*left > 0 || *width < picture_.output_width) jpeg_crop_scanline(&picture_, left, width);
    return skip == 0 || jpeg_skip_scanlines(&picture_, skip) == skip;
}

bool JpegDecoder::step_read_rows(std::uint8_t* rows, std::size_t stride, JDIMENSION count) noexcept {
    if (setjmp(errors_.escape)) return false;
    const JDIMENSION first = picture_.output_scanline;
    while (picture_.output_scanline < first + count) {
        JSAMPROW row = rows + (picture_.output_scanline - first) * stride;
        if (jpeg_read_scanlines(&picture_, &row, 1) != 1) return false;
    }
    return true;
}

void JpegDecoder::abort() noexcept {
    if (picture_.mem != nullptr) jpeg_abort_decompress(&picture_);
}

Status JpegDecoder::refuse(Status status) noexcept {
    abort();
    return status == Status::ok ? Status::corrupt : status;
}

Status JpegDecoder::read_header(std::span<const std::uint8_t> file, Header& header) {
    abort();
    errors_.forget();
    file_ = file;
    if (file.empty()) return Status::empty;
    if (!starts_like_a_jpeg(file)) return Status::not_a_jpeg;
    if (!step_read_header(file.data(), file.size())) return refuse(errors_.outcome());
    header.width = static_cast<int>(picture_.image_width);
    header.height = static_cast<int>(picture_.image_height);
    // Of 4:1:1 libjpeg repeats the chroma at full scale and interpolates it at half.
    header.scalable = picture_.max_h_samp_factor <= 2 && picture_.max_v_samp_factor <= 2;
    if (std::int64_t{header.width} * header.height > max_pixels) return refuse(Status::too_large);
    if (picture_.arith_code || picture_.data_precision != 8) return refuse(Status::unsupported);
    if (picture_.num_components == 2 || picture_.num_components > 4) return refuse(Status::unsupported);
    if (!has_end_marker(picture_.src->next_input_byte, file.data() + file.size())) return refuse(Status::truncated);
    return Status::ok;
}

Status JpegDecoder::decode(int eighths, const Region& region, Pixels& pixels) {
    const int width = scaled(picture_.image_width, eighths);
    const int height = scaled(picture_.image_height, eighths);
    if (region.left < 0 || region.top < 0 || region.left >= region.right || region.top >= region.bottom ||
        region.right > width || region.bottom > height) {
        return refuse(Status::wrong_size);
    }
    const bool grey = picture_.num_components == 1;
    const bool cmyk = picture_.num_components == 4;
    picture_.scale_num = static_cast<unsigned>(eighths);
    picture_.scale_denom = 8;
    picture_.out_color_space = grey ? JCS_GRAYSCALE : cmyk ? JCS_CMYK : JCS_RGB;
    if (!step_start()) return refuse(errors_.outcome());

    auto left = static_cast<JDIMENSION>(std::max(region.left - margin, 0));
    auto columns = static_cast<JDIMENSION>(std::min(region.right + margin, width)) - left;
    if (!step_window(&left, &columns, static_cast<JDIMENSION>(region.top))) return refuse(errors_.outcome());

    const auto channels = static_cast<std::size_t>(picture_.output_components);
    const std::size_t stride = (columns * channels + 63) & ~std::size_t{63};
    const int rows = region.bottom - region.top;
    if (stride * static_cast<std::size_t>(rows) > static_cast<std::size_t>(memory_for(file_.size()))) {
        return refuse(Status::too_large);
    }
    rows_.resize(stride * static_cast<std::size_t>(rows));
    if (!step_read_rows(rows_.data(), stride, static_cast<JDIMENSION>(rows))) return refuse(errors_.outcome());
    const Status status = errors_.outcome();
    abort();
    if (status != Status::ok) return status;

    if (cmyk) cmyk_to_rgb(stride, static_cast<int>(columns), rows);
    pixels.channels = grey ? 1 : 3;
    pixels.stride = stride;
    pixels.origin = rows_.data() + static_cast<std::size_t>(pixels.channels) * (region.left - left);
    return Status::ok;
}

// Four-component files hold ink upside down (255 = none), as Adobe's programs write it: files without Adobe's marker
// are read so too, as Pillow and the browsers do.
void JpegDecoder::cmyk_to_rgb(std::size_t stride, int width, int height) noexcept {
    for (int y = 0; y < height; ++y) {
        std::uint8_t* row = rows_.data() + static_cast<std::size_t>(y) * stride;
        for (int x = 0; x < width; ++x) {
            const std::uint8_t* ink = row + 4 * x;
            const unsigned paper = ink[3];
            const std::uint8_t red = times(ink[0], paper);
            const std::uint8_t green = times(ink[1], paper);
            const std::uint8_t blue = times(ink[2], paper);
            row[3 * x] = red;
            row[3 * x + 1] = green;
            row[3 * x + 2] = blue;
        }
    }
}

}  // namespace overnight
