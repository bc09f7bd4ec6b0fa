// Which input samples make an output sample, and with what weight: an antialiased triangle, as Pillow's BILINEAR.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

namespace overnight {

// One axis. `Value` is the number type of the arithmetic that uses the weights (arithmetic.hpp).
template <class Arithmetic>
class Taps {
public:
    using Value = typename Arithmetic::Value;

    // Output o of `size` looks at [begin, end) of an axis of `length` samples; sample i covers [i, i + 1).
    // Taps may reach beyond [begin, end) but not beyond the axis. `mirrored` reverses the outputs.
    void prepare(double begin, double end, int length, int size, bool mirrored) {
        prepare(begin, end, length, size, mirrored, std::max((end - begin) / size, 1.0));
    }

    // The same with a triangle of another half-width, `support` samples.
    void prepare(double begin, double end, int length, int size, bool mirrored, double support) {
        const double scale = (end - begin) / size;
        const auto lowest = [&](double centre) { return static_cast<int>(centre - support + 0.5); };
        low_ = std::clamp(lowest(begin + 0.5 * scale), 0, length - 1);
        high_ = std::clamp(static_cast<int>(end - 0.5 * scale + support + 0.5), low_ + 1, length);
        count_ = std::min(static_cast<int>(std::ceil(2 * support)), high_ - low_);
        const auto outputs = static_cast<std::size_t>(size);
        first_.resize(outputs);
        centres_.resize(outputs);
        for (int o = 0; o < size; ++o) {
            const double centre = begin + ((mirrored ? size - 1 - o : o) + 0.5) * scale;
            centres_[static_cast<std::size_t>(o)] = centre;
            first_[static_cast<std::size_t>(o)] = std::clamp(lowest(centre), low_, high_ - count_);
        }
        weigh(outputs, 1.0 / support);
    }

    // The samples that any output needs: [low, high).
    int low() const { return low_; }
    int high() const { return high_; }

    // Every output looks at `count` samples; where the triangle covers fewer, some weigh nothing.
    int count() const { return count_; }
    // Of output `o`: its first sample counted from low(), and the weights.
    int first(int o) const { return first_[static_cast<std::size_t>(o)] - low_; }
    const Value* weights(int o) const { return weights_.data() + static_cast<std::size_t>(o * count_); }
    // All outputs' first samples, counted from the axis's beginning.
    const int* firsts() const { return first_.data(); }

private:
    // Tap by tap over all outputs, for compilers to make vectors of.
    void weigh(std::size_t outputs, double inverse) {
        shares_.resize(outputs * static_cast<std::size_t>(count_));
        weights_.resize(shares_.size());
        totals_.assign(outputs, 0);
        double* share = shares_.data();
        double* const total = totals_.data();
        const double* const centre = centres_.data();
        const int* const first = first_.data();
        for (int k = 0; k < count_; ++k, share += outputs) {
            for (std::size_t o = 0; o < outputs; ++o) {
                share[o] = std::max(0.0, 1.0 - std::abs(first[o] + k - centre[o] + 0.5) * inverse);
                total[o] += share[o];
            }
        }
        Arithmetic::weigh(shares_.data(), count_, outputs, total, weights_.data());
    }

    std::vector<int> first_;
    std::vector<double> centres_;
    std::vector<double> shares_;  // [count][outputs]
    std::vector<double> totals_;
    std::vector<Value> weights_;  // [outputs][count]
    int low_ = 0;
    int high_ = 0;
    int count_ = 0;
};

}  // namespace overnight
