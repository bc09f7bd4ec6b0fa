// What the steps of a sample cost on this machine, each in processor time of the calling thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/kernels.hpp"
#include "sample.hpp"

namespace overnight {

// Each does what those before it do, and more; the last two leave the own decoder's way.
enum class Part : std::uint8_t {
    entropy,  // markers, tables, coefficients up to the end of the crop: no decoder does less
    planes,   // and the samples of the planes inside the crop
    pixels,   // and the resized pixels, in colour
    sample,   // and normalised, written to memory
    libjpeg,  // a sample by libjpeg's way alone
    exact,    // a sample as evaluation makes it
};

// Pictures in one piece of memory, and what to cut from each.
struct Pictures {
    std::size_t count = 0;
    const std::uint8_t* bytes = nullptr;
    const std::int64_t* offset = nullptr;
    const std::int64_t* size = nullptr;
    const double* boxes = nullptr;  // [count][4]
    const std::uint8_t* flips = nullptr;

    std::span<const std::uint8_t> file(std::size_t i) const {
        return {bytes + offset[i], static_cast<std::size_t>(size[i])};
    }
    Cut cut(std::size_t i) const;
};

// Seconds for all pictures. `out` holds `count` samples. Statuses: unsupported where the own decoder does not read a
// file, which then counts for nothing but its markers.
double measure(Part part, const Kernels& kernels, const Pictures& pictures, const Output& output, std::uint8_t* out,
               std::uint8_t* statuses);

}  // namespace overnight
