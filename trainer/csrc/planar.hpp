// The way of ordinary photographs to a training sample: own decoder, planes left as they are stored, one resample.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "arithmetic.hpp"
#include "jpeg/frame.hpp"
#include "kernels/kernels.hpp"
#include "sample.hpp"
#include "taps.hpp"

namespace overnight {

// Memory that only grows, and whose content nobody needs when it does.
template <class T>
class Scratch {
public:
    T* at_least(std::size_t count) {
        if (count > size_) {
            data_ = std::make_unique_for_overwrite<T[]>(count);
            size_ = count;
        }
        return data_.get();
    }

private:
    std::unique_ptr<T[]> data_;
    std::size_t size_ = 0;
};

// One worker's; never shared.
class PlanarMaker {
public:
    explicit PlanarMaker(const Kernels& kernels) : kernels_(kernels), tables_(std::make_unique<Tables>()) {}

    // Writes one sample to `out` (null: makes its pixels all the same). Nothing: the file is none that the own decoder
    // reads, and libjpeg decides about it.
    std::optional<Status> make(std::span<const std::uint8_t> file, const Cut& cut, const Output& output, void* out);

    // All of a picture's planes at full size, for tests: samples as coded, each plane in rows of its own stride.
    struct Planes {
        Frame frame;
        std::vector<std::uint8_t> samples[3];
        std::size_t stride[3] = {};
        int side = 8;
    };
    std::optional<Status> planes(std::span<const std::uint8_t> file, int side, Planes& result);

    // The units that a cut needs and the sides of its planes' blocks, for measuring the steps one by one.
    struct Window {
        int left = 0;
        int top = 0;
        int right = 0;
        int bottom = 0;
        int side[3] = {};
    };
    std::optional<Status> window(std::span<const std::uint8_t> file, const Cut& cut, int size, Window& result);

    // Decodes a window and no more; without `samples`, its coefficients are read and nothing is made of them.
    std::optional<Status> decode_window(std::span<const std::uint8_t> file, const Window& window, bool samples);

private:
    // How planes of one shape become the target; both chroma planes share one.
    struct Aim {
        Taps<FixedArithmetic> across;
        Taps<FixedArithmetic> down;
        int side = 8;
    };
    struct Plane {
        Scratch<std::uint8_t> samples;
        int aim = 0;
    };

    void aim_planes(const Cut& cut, int size);
    void aim(Aim& aim, const Component& shape, const Cut& cut, int size) const;
    const Aim& aim_of(int component) const { return aim_[plane_[component].aim]; }
    void cover(ScanJob& scan) const;
    std::optional<Status> prepare(std::span<const std::uint8_t> file, ScanJob& scan);
    std::optional<Status> decode(std::span<const std::uint8_t> file, ScanJob& scan);
    DataEnd unstuff(std::span<const std::uint8_t> file, Unstuffed& input);
    ResampleJob resample_job(int component, const ScanJob& scan, int size) const;
    bool make_prepared(const ScanJob& scan, const Output& output, void* out);

    const Kernels& kernels_;
    std::unique_ptr<Tables> tables_;
    Frame frame_;
    Plane plane_[3];
    Aim aim_[3];
    Scratch<std::uint8_t> data_;
    Scratch<std::uint32_t> segments_;
    Scratch<std::int16_t> rows_;
    Scratch<std::int16_t> columns_;
    Scratch<std::int16_t> lines_;
};

}  // namespace overnight
