// What Pillow has decoded goes through the resampler and the number formats of every other sample: it differs from a
// JPEG's in who decoded it alone.
#include "module_pixels.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include "module_arguments.hpp"
#include "sample.hpp"
#include "without_gil.hpp"

using namespace nb::literals;

namespace overnight {
namespace {

// Pixels that are there already, RGB, behind the seam of decoders.
class Given final : public Decoder {
public:
    explicit Given(const Array<const std::uint8_t, 3>& pixels)
        : data_(pixels.data()), height_(static_cast<int>(pixels.shape(0))), width_(static_cast<int>(pixels.shape(1))) {}

    Status read_header(std::span<const std::uint8_t>, Header& header) override {
        header.width = width_;
        header.height = height_;
        return Status::ok;
    }

    Status decode(int, const Region& region, Pixels& pixels) override {
        pixels.channels = 3;
        pixels.stride = 3 * static_cast<std::size_t>(width_);
        pixels.origin =
            data_ + static_cast<std::size_t>(region.top) * pixels.stride + 3 * static_cast<std::size_t>(region.left);
        return Status::ok;
    }

private:
    const std::uint8_t* data_;
    int height_;
    int width_;
};

std::string sample_of(const Array<const std::uint8_t, 3>& pixels, const Array<const double, 2>& box, bool flip,
                      nb::object out, bool channels_last, std::array<float, 3> mean, std::array<float, 3> std) {
    require(pixels.shape(2) == 3 && pixels.size() > 0, "pixels must be [height, width, 3]");
    require(static_cast<std::int64_t>(pixels.shape(0) * pixels.shape(1)) <= max_pixels, "the picture is too large");
    check_boxes(box, 1);
    const Output output = output_of(out, 1, channels_last, mean, std);
    void* memory = nb::cast<nb::ndarray<>>(out).data();
    const double* edges = box.data();
    const Cut cut{{edges[0], edges[1], edges[2], edges[3]}, 0, 0, flip};
    Status status = Status::ok;
    without_gil([&] {
        SampleMaker maker(std::make_unique<Given>(pixels), nullptr);
        status = maker.make({}, cut, Precision::exact, output, memory);
    });
    return status_name(status);
}

}  // namespace

void add_pixels(nb::module_& module) {
    module.attr("MAX_PIXELS") = max_pixels;
    module.def("sample_of", &sample_of, "pixels"_a, "box"_a, "flip"_a, "out"_a, nb::kw_only(), "channels_last"_a,
               "mean"_a, "std"_a);
}

}  // namespace overnight
