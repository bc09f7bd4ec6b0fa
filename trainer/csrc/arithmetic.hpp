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
    // Tap by tap over all outputs, for compilers to make vectors of.
    static void weigh(const double* shares, int count, std::size_t outputs, const double* totals, Value* weights) {
        constexpr std::size_t at_once = 32;
        for (std::size_t from = 0; from < outputs; from += at_once) {
            const std::size_t some = std::min(at_once, outputs - from);
            std::int32_t sum[at_once] = {};
            std::int32_t largest[at_once] = {};
            std::int32_t highest[at_once] = {};
            Value* const block = weights + from * static_cast<std::size_t>(count);
            for (int k = 0; k < count; ++k) {
                const double* share = shares + static_cast<std::size_t>(k) * outputs + from;
                std::int32_t weight[at_once];
                for (std::size_t o = 0; o < some; ++o) {
                    // Never negative, so that adding a half and cutting rounds.
                    weight[o] = std::min(static_cast<std::int32_t>(share[o] * (one / totals[from + o]) + 0.5), one - 1);
                    sum[o] += weight[o];
                    highest[o] = weight[o] > largest[o] ? k : highest[o];
                    largest[o] = std::max(largest[o], weight[o]);
                }
                for (std::size_t o = 0; o < some; ++o) {
                    block[o * static_cast<std::size_t>(count) + static_cast<std::size_t>(k)] =
                        static_cast<Value>(weight[o]);
                }
            }
            for (std::size_t o = 0; o < some; ++o) {
                const auto at = o * static_cast<std::size_t>(count) + static_cast<std::size_t>(highest[o]);
                block[at] = static_cast<Value>(std::min(largest[o] + one - sum[o], one - 1));
            }
        }
    }

private:
    static constexpr std::int32_t one = 1 << 15;
};

}  // namespace overnight
