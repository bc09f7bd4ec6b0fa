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
        capacity_ = static_cast<std::size_t>(std::ceil(support)) * 2 + 1;
        first_.resize(static_cast<std::size_t>(size));
        count_.resize(static_cast<std::size_t>(size));
        weights_.assign(static_cast<std::size_t>(size) * capacity_, Value{});
        shares_.resize(capacity_);
        low_ = length;
        high_ = 0;
        for (int o = 0; o < size; ++o) {
            place(static_cast<std::size_t>(mirrored ? size - 1 - o : o), begin + (o + 0.5) * scale, support, length);
        }
    }

    // The samples that any output needs: [low, high).
    int low() const { return low_; }
    int high() const { return high_; }

    // Of output `o`: its first sample counted from low(), the number of samples, their weights.
    int first(int o) const { return first_[static_cast<std::size_t>(o)] - low_; }
    int count(int o) const { return count_[static_cast<std::size_t>(o)]; }
    // All outputs' first samples, counted from the axis's beginning, and numbers of samples.
    const int* firsts() const { return first_.data(); }
    const int* counts() const { return count_.data(); }
    std::size_t capacity() const { return capacity_; }  // weights from one output to the next
    const Value* weights(int o) const { return weights_.data() + static_cast<std::size_t>(o) * capacity_; }

private:
    void place(std::size_t slot, double centre, double support, int length) {
        const int begin = std::clamp(static_cast<int>(centre - support + 0.5), 0, length - 1);
        const int end = std::clamp(static_cast<int>(centre + support + 0.5), begin + 1, length);
        const double inverse = 1.0 / support;
        double total = 0;
        for (int i = begin; i < end; ++i) {
            const double share = std::max(0.0, 1.0 - std::abs(i - centre + 0.5) * inverse);
            shares_[static_cast<std::size_t>(i - begin)] = share;
            total += share;
        }
        Arithmetic::weigh(shares_.data(), end - begin, total, weights_.data() + slot * capacity_);
        first_[slot] = begin;
        count_[slot] = end - begin;
        low_ = std::min(low_, begin);
        high_ = std::max(high_, end);
    }

    std::size_t capacity_ = 0;
    std::vector<int> first_;
    std::vector<int> count_;
    std::vector<Value> weights_;
    std::vector<double> shares_;
    int low_ = 0;
    int high_ = 0;
};

}  // namespace overnight
