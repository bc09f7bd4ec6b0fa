// The Python side of measure.hpp.
#include "module_measure.hpp"

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string>

#include "measure.hpp"
#include "module_arguments.hpp"

namespace overnight {
namespace {

using namespace nb::literals;

constexpr const char* part_names[] = {"entropy", "planes", "pixels", "sample", "libjpeg", "exact"};

Part part_named(const std::string& name) {
    const auto* found = std::find(std::begin(part_names), std::end(part_names), name);
    require(found != std::end(part_names), "part must be entropy, planes, pixels, sample, libjpeg or exact");
    return static_cast<Part>(found - std::begin(part_names));
}

double measured(const std::string& part, const Bytes& bytes, const Array<const std::int64_t, 1>& offset,
                const Array<const std::int64_t, 1>& size, const Array<const double, 2>& boxes,
                const Array<const std::uint8_t, 1>& flips, nb::object out, const Array<std::uint8_t, 1>& statuses,
                const std::string& instructions, std::array<float, 3> mean, std::array<float, 3> std) {
    const Pictures pictures{.count = size.shape(0),
                            .bytes = bytes.data(),
                            .offset = offset.data(),
                            .size = size.data(),
                            .boxes = boxes.data(),
                            .flips = flips.data()};
    const std::size_t count = pictures.count;
    require(offset.shape(0) == count && flips.shape(0) == count && statuses.shape(0) == count,
            "offset, size, flips and statuses must have one length");
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t from = offset.data()[i];
        const std::int64_t length = size.data()[i];
        const auto all = static_cast<std::int64_t>(bytes.shape(0));
        require(from >= 0 && length >= 0 && from <= all && length <= all - from, "a picture lies outside the bytes");
    }
    check_boxes(boxes, count);
    const Kernels* chosen = kernels_named(instructions.c_str());
    require(chosen != nullptr, "this machine or build has no kernels of that name");
    const Part which = part_named(part);
    const Output output = output_of(out, count, false, mean, std);
    auto* target = static_cast<std::uint8_t*>(nb::cast<nb::ndarray<>>(out).data());
    const nb::gil_scoped_release release;
    return measure(which, *chosen, pictures, output, target, statuses.data());
}

}  // namespace

void add_measure(nb::module_& module) {
    module.def("measure", &measured, "part"_a, "bytes"_a, "offset"_a, "size"_a, "boxes"_a, "flips"_a, "out"_a,
               "statuses"_a, nb::kw_only(), "instructions"_a, "mean"_a, "std"_a);
}

}  // namespace overnight
