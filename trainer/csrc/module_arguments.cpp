#include "module_arguments.hpp"

#include <cmath>
#include <stdexcept>

namespace overnight {
namespace {

Number number_of(nb::dlpack::dtype type) {
    using Code = nb::dlpack::dtype_code;
    const auto is = [&](Code code, int bits) {
        return type.code == static_cast<std::uint8_t>(code) && type.bits == bits;
    };
    if (is(Code::UInt, 8)) return Number::uint8;
    if (is(Code::Float, 32)) return Number::float32;
    if (is(Code::Float, 16)) return Number::float16;
    // numpy has no bfloat16: its arrays hold the bits.
    require(is(Code::Bfloat, 16) || is(Code::UInt, 16), "out must be uint8, float32, float16 or bfloat16 (or uint16)");
    return Number::bfloat16;
}

}  // namespace

void require(bool holds, const char* message) {
    if (!holds) throw std::invalid_argument(message);
}

Output output_of(nb::handle out, std::size_t count, bool channels_last, std::array<float, 3> mean,
                 std::array<float, 3> std) {
    using AnyOut = nb::ndarray<nb::ndim<4>, nb::c_contig, nb::device::cpu>;
    const auto array = nb::cast<AnyOut>(out);
    Output output;
    output.number = number_of(array.dtype());
    output.layout = channels_last ? Layout::nhwc : Layout::nchw;
    const std::size_t side = array.shape(2);
    const std::size_t channels = channels_last ? array.shape(3) : array.shape(1);
    const std::size_t other = channels_last ? array.shape(1) : array.shape(3);
    require(array.shape(0) == count, "out must hold one picture for each place");
    require(channels == 3 && side == other && side > 0 && side <= 16384, "out must be [n, 3, s, s] or [n, s, s, 3]");
    output.size = static_cast<int>(side);
    for (std::size_t c = 0; c < 3; ++c) {
        require(std[c] > 0, "std must be above 0");
        output.scale[c] = 1.0F / (255.0F * std[c]);
        output.shift[c] = -mean[c] / std[c];
    }
    return output;
}

void check_boxes(const Array<const double, 2>& boxes, std::size_t count) {
    require(boxes.shape(0) == count && boxes.shape(1) == 4, "boxes must be [n, 4]");
    for (std::size_t i = 0; i < count; ++i) {
        const double* box = boxes.data() + 4 * i;
        require(std::isfinite(box[0] + box[1] + box[2] + box[3]) && box[2] > box[0] && box[3] > box[1],
                "a box is empty or not finite");
    }
}

}  // namespace overnight
