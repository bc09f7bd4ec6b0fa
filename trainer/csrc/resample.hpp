// Separable antialiased resize of a decoded region into the caller's memory, sixteen output rows at a time: down,
// across, then normalised and laid out, so that everything between stays in the first caches.
#pragma once

#include <cstdint>
#include <vector>

#include "decoder.hpp"
#include "kernels/kernels.hpp"
#include "taps.hpp"

namespace overnight {

enum class Layout : std::uint8_t { nchw, nhwc };

// How a sample stands in memory: `size` x `size` pixels, three channels.
struct Output {
    int size = 224;
    Layout layout = Layout::nchw;
    Number number = Number::uint8;  // the others are normalised: (sample / 255 - mean) / std as sample * scale + shift
    float scale[3] = {1, 1, 1};
    float shift[3] = {0, 0, 0};
};

template <class Arithmetic>
class Resampler {
public:
    // For decoders: call `prepare`, decode the region that `across` and `down` need, then `run`.
    Taps<Arithmetic> across;
    Taps<Arithmetic> down;

    // Writes one sample to `out` (size * size * 3 values). Grey becomes three equal channels.
    void run(const Pixels& pixels, const Output& output, void* out);

private:
    using Value = typename Arithmetic::Value;

    void pass_down(const Pixels& pixels, int top, int rows);
    void pass_across(int channels, int size);
    void store(int channels, const Output& output, int top, int rows, void* out);

    std::size_t row_stride_ = 0;    // of rows_
    std::size_t plane_stride_ = 0;  // of a channel in planes_
    std::vector<Value> rows_;       // [16][samples of a region row]
    std::vector<Value> columns_;    // [samples of a region row][16]
    std::vector<Value> planes_;     // [channel][output column][16]
    std::vector<Value> lines_;      // [channel][16][output column]
};

}  // namespace overnight
