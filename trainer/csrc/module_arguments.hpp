// What the Python module's functions take, checked alike by all of them.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "resample.hpp"

namespace nb = nanobind;

namespace overnight {

template <class T, int dimensions>
using Array = nb::ndarray<T, nb::ndim<dimensions>, nb::c_contig, nb::device::cpu>;
using Bytes = Array<const std::uint8_t, 1>;

// Raises ValueError with the message where it does not hold.
void require(bool holds, const char* message);

// How samples stand in `out`, one for each of `count` pictures; ValueError where its shape or type is none of ours.
Output output_of(nb::handle out, std::size_t count, bool channels_last, std::array<float, 3> mean,
                 std::array<float, 3> std);

// ValueError where `boxes` are not `count` boxes that hold something.
void check_boxes(const Array<const double, 2>& boxes, std::size_t count);

}  // namespace overnight
