// libjpeg-turbo behind the Decoder seam: only the rows and columns asked for are transformed and converted.
#pragma once

#include <vector>

#include "decoder.hpp"
#include "jpeg_errors.hpp"

namespace overnight {

class JpegDecoder final : public Decoder {
public:
    JpegDecoder();
    ~JpegDecoder() override;
    JpegDecoder(const JpegDecoder&) = delete;
    JpegDecoder& operator=(const JpegDecoder&) = delete;

    Status read_header(std::span<const std::uint8_t> file, Header& header) override;
    Status decode(int eighths, const Region& region, Pixels& pixels) override;

private:
    // The steps that call into libjpeg. Each sets its own return point, and none holds an object with a destructor:
    // an error jumps straight out of libjpeg to the start of the step.
    bool step_read_header(const std::uint8_t* data, std::size_t size) noexcept;
    bool step_start() noexcept;
    bool step_window(JDIMENSION* left, JDIMENSION* width, JDIMENSION skip) noexcept;
    bool step_read_rows(std::uint8_t* rows, std::size_t stride, JDIMENSION count) noexcept;

    void abort() noexcept;
    Status refuse(Status status) noexcept;
    void cmyk_to_rgb(std::size_t stride, int width, int height) noexcept;

    JpegErrors errors_;
    jpeg_decompress_struct picture_{};
    std::span<const std::uint8_t> file_;
    std::vector<std::uint8_t> rows_;
};

}  // namespace overnight
