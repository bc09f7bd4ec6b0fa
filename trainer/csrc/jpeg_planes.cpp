#include "jpeg_planes.hpp"

#include <algorithm>
#include <csetjmp>
#include <cstdio>

#include <jpeglib.h>

#include "jpeg_errors.hpp"

namespace overnight {
namespace {

constexpr int most_rows = 32;  // of an output unit, of any component

struct Errors {
    jpeg_error_mgr base;
    std::jmp_buf escape;
};

[[noreturn]] void on_error(j_common_ptr picture) { std::longjmp(reinterpret_cast<Errors*>(picture->err)->escape, 1); }

void on_message(j_common_ptr picture, int level) {
    if (level < 0) ++picture->err->num_warnings;
}

// Everything with a destructor lives outside the steps that libjpeg may jump out of.
struct Reader {
    jpeg_decompress_struct picture{};
    Errors errors{};

    Reader() {
        picture.err = jpeg_std_error(&errors.base);
        errors.base.error_exit = on_error;
        errors.base.emit_message = on_message;
        jpeg_create_decompress(&picture);
    }
    ~Reader() { jpeg_destroy_decompress(&picture); }

    bool start(const std::uint8_t* data, std::size_t size, int eighths) noexcept {
        if (setjmp(errors.escape)) return false;
        picture.mem->max_memory_to_use = memory_for(size);
        jpeg_mem_src(&picture, data, static_cast<unsigned long>(size));
        jpeg_read_header(&picture, TRUE);
        picture.raw_data_out = TRUE;
        picture.out_color_space = picture.jpeg_color_space;
        picture.scale_num = static_cast<unsigned>(eighths);
        picture.scale_denom = 8;
        return jpeg_start_decompress(&picture);
    }

    bool read(JSAMPARRAY* components, JDIMENSION lines) noexcept {
        if (setjmp(errors.escape)) return false;
        return jpeg_read_raw_data(&picture, components, lines) != 0;
    }
};

int rows_of_unit(const jpeg_component_info& info) { return info.v_samp_factor * info.DCT_scaled_size; }

}  // namespace

Status libjpeg_planes(std::span<const std::uint8_t> file, int eighths, std::vector<LibjpegPlane>& planes) {
    Reader reader;
    if (!reader.start(file.data(), file.size(), eighths)) return Status::corrupt;
    const jpeg_decompress_struct& picture = reader.picture;
    if (picture.num_components > 3) return Status::unsupported;
    planes.resize(static_cast<std::size_t>(picture.num_components));
    std::vector<std::uint8_t> unit[3];
    JSAMPROW rows[3][most_rows];
    JSAMPARRAY components[3];
    std::size_t strides[3] = {};
    std::size_t samples = 0;
    for (std::size_t k = 0; k < planes.size(); ++k) {
        samples += std::size_t{picture.comp_info[k].downsampled_width} * picture.comp_info[k].downsampled_height;
    }
    if (samples > static_cast<std::size_t>(memory_for(file.size()))) return Status::too_large;
    for (std::size_t k = 0; k < planes.size(); ++k) {
        const jpeg_component_info& info = picture.comp_info[k];
        planes[k].side = info.DCT_scaled_size;
        planes[k].width = static_cast<int>(info.downsampled_width);
        planes[k].height = static_cast<int>(info.downsampled_height);
        strides[k] = static_cast<std::size_t>(info.width_in_blocks + 4) * static_cast<std::size_t>(planes[k].side);
        unit[k].resize(strides[k] * most_rows);
        for (std::size_t y = 0; y < most_rows; ++y) rows[k][y] = unit[k].data() + y * strides[k];
        components[k] = rows[k];
    }
    const auto lines = static_cast<JDIMENSION>(picture.max_v_samp_factor * picture.min_DCT_scaled_size);
    while (picture.output_scanline < picture.output_height) {
        if (!reader.read(components, lines)) return Status::corrupt;
        for (std::size_t k = 0; k < planes.size(); ++k) {
            LibjpegPlane& plane = planes[k];
            const int made = static_cast<int>(plane.samples.size()) / std::max(plane.width, 1);
            for (int y = 0; y < std::min(rows_of_unit(picture.comp_info[k]), plane.height - made); ++y) {
                plane.samples.insert(plane.samples.end(), rows[k][y], rows[k][y] + plane.width);
            }
        }
    }
    return picture.err->num_warnings > 0 ? Status::corrupt : Status::ok;
}

}  // namespace overnight
