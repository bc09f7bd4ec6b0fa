// What a tool asks of a file: which box, size, number, layout. A function of the file's bytes alone, so that a file
// that crashes a tool does so again.
#pragma once

#include <span>

#include "files.hpp"
#include "sample.hpp"

namespace overnight {

class Choice {
public:
    explicit Choice(std::span<const std::uint8_t> file) : state_(hash_of(file.data(), file.size())) {}

    // One of `count` numbers from 0.
    int of(int count) {
        state_ = state_ * 6364136223846793005 + 1442695040888963407;  // Knuth's MMIX
        return static_cast<int>((state_ >> 33) % static_cast<unsigned>(count));
    }

    Output output() {
        Output output;
        constexpr int sizes[] = {1, 2, 7, 16, 31, 32, 33, 40};
        output.size = sizes[of(8)];
        output.layout = of(2) == 0 ? Layout::nchw : Layout::nhwc;
        output.number = static_cast<Number>(of(4));
        for (int c = 0; c < 3; ++c) {
            output.scale[c] = 1.0F / (static_cast<float>(c + 1) * 64.0F);
            output.shift[c] = static_cast<float>(c) - 1.5F;
        }
        return output;
    }

    // A box inside the picture; one in eight leaves it.
    Cut cut(int width, int height) {
        const double left = width * part();
        const double top = height * part();
        const double right = of(4) == 0 ? width : left + (width - left) * part();
        const double bottom = of(4) == 0 ? height : top + (height - top) * part();
        const bool leaves = of(8) == 0;
        return {{left, top, leaves ? right + width : right, bottom}, of(2) * width, height, of(2) == 0};
    }

private:
    double part() { return of(1024) / 1024.0; }

    std::uint64_t state_;
};

inline std::size_t bytes_of(const Output& output) {
    return static_cast<std::size_t>(output.size) * static_cast<std::size_t>(output.size) * 3 * bytes_of(output.number);
}

}  // namespace overnight
