// The two number types of the resampler. Float for evaluation and prediction; 16-bit fixed point, twice as many
// samples an instruction, for training.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace overnight {

struct FloatArithmetic {
    using Value = float;
    using Vector __attribute__((vector_size(16))) = float;

    static Value load(std::uint8_t sample) { return sample; }
    static Value load(Value value) { return value; }
    static Value multiply(Value value, Value weight) { return value * weight; }
    static float sample(Value value) { return value; }

    // Weights [outputs][count] of shares [count][outputs]: an output's add up to 1.
    static void weigh(const double* shares, int count, std::size_t outputs, const double* totals, Value* weights) {
        for (std::size_t o = 0; o < outputs; ++o) {
            for (int k = 0; k < count; ++k) {
                *weights++ = static_cast<Value>(shares[static_cast<std::size_t>(k) * outputs + o] / totals[o]);
            }
        }
    }
};

// Samples carry 6 fractional bits, weights 15: each product is rounded once, within 1/128 of a grey level.
struct FixedArithmetic {
    using Value = std::int16_t;
    using Vector __attribute__((vector_size(16))) = std::int16_t;

    static Value load(std::uint8_t sample) { return static_cast<Value>(sample << 6); }
    static Value load(Value value) { return value; }
    // The shape that compilers turn into one instruction (pmulhrsw on x86, sqrdmulh on Arm).
    static Value multiply(Value value, Value weight) {
        return static_cast<Value>(((static_cast<std::int32_t>(value) * weight >> 14) + 1) >> 1);
    }
    static float sample(Value value) { return static_cast<float>(value) * (1.0F / 64.0F); }

    // Weights add up to exactly 1, so that a flat picture stays flat; the largest takes what rounding left over.
    static void weigh(const double* shares, int count, std::size_t outputs, const double* totals, Value* weights) {
        constexpr int one = 1 << 15;
        for (std::size_t o = 0; o < outputs; ++o, weights += count) {
            const double factor = one / totals[o];
            int sum = 0;
            int highest = 0;
            for (int k = 0; k < count; ++k) {
                // Never negative, so that adding a half and cutting rounds.
                const double share = shares[static_cast<std::size_t>(k) * outputs + o];
                const int weight = std::min(static_cast<int>(share * factor + 0.5), one - 1);
                weights[k] = static_cast<Value>(weight);
                sum += weight;
                if (weight > weights[highest]) highest = k;
            }
            Value& largest = weights[highest];
            largest = static_cast<Value>(std::min(largest + one - sum, one - 1));
        }
    }
};

}  // namespace overnight
