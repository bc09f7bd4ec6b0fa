#include "resample.hpp"

#include <algorithm>

#include "arithmetic.hpp"
#include "numbers.hpp"
#include "transpose.hpp"

namespace overnight {
namespace {

std::size_t padded(std::size_t length) { return (length + 15) & ~std::size_t{15}; }

// out[i] (+)= sum over k < N of in[k * stride + i] * weights[k]
template <class Arithmetic, int N, bool add, class In>
[[gnu::always_inline]] inline void blend(const In* __restrict in, std::size_t stride,
                                         const typename Arithmetic::Value* weights,
                                         typename Arithmetic::Value* __restrict out, int length) {
    using Value = typename Arithmetic::Value;
    for (int i = 0; i < length; ++i) {
        Value sum = add ? out[i] : Value{};
        for (int k = 0; k < N; ++k) {
            const Value value = Arithmetic::load(in[k * stride + static_cast<std::size_t>(i)]);
            sum = static_cast<Value>(sum + Arithmetic::multiply(value, weights[k]));
        }
        out[i] = sum;
    }
}

template <class Arithmetic, bool add, class In>
[[gnu::always_inline]] inline void blend_some(const In* in, std::size_t stride, int count,
                                              const typename Arithmetic::Value* weights,
                                              typename Arithmetic::Value* out, int length) {
    switch (count) {
        case 1: blend<Arithmetic, 1, add>(in, stride, weights, out, length); break;
        case 2: blend<Arithmetic, 2, add>(in, stride, weights, out, length); break;
        case 3: blend<Arithmetic, 3, add>(in, stride, weights, out, length); break;
        default: blend<Arithmetic, 4, add>(in, stride, weights, out, length);
    }
}

// The weighted sum of `count` input lines.
template <class Arithmetic, class In>
[[gnu::always_inline]] inline void blend_all(const In* in, std::size_t stride, int count,
                                             const typename Arithmetic::Value* weights, typename Arithmetic::Value* out,
                                             int length) {
    blend_some<Arithmetic, false>(in, stride, count, weights, out, length);
    for (int k = 4; k < count; k += 4) {
        blend_some<Arithmetic, true>(in + static_cast<std::size_t>(k) * stride, stride, count - k, weights + k, out,
                                     length);
    }
}

// Many rounded products may add up to a little more than white.
std::uint8_t to_byte(float sample) {
    return static_cast<std::uint8_t>(static_cast<int>(std::min(sample + 0.5F, 255.0F)));
}

// One channel of a row, as `Out`: `convert` makes it of a sample.
template <class Arithmetic, class Out, class Convert>
void store_line(const typename Arithmetic::Value* line, int size, Out* out, std::size_t step, Convert convert) {
    for (int x = 0; x < size; ++x) out[static_cast<std::size_t>(x) * step] = convert(Arithmetic::sample(line[x]));
}

}  // namespace

template <class Arithmetic>
void Resampler<Arithmetic>::run(const Pixels& pixels, const Output& output, void* out) {
    const auto channels = static_cast<std::size_t>(pixels.channels);
    const auto width = static_cast<std::size_t>(across.high() - across.low()) * channels;
    const auto size = static_cast<std::size_t>(output.size);
    row_stride_ = padded(width);
    plane_stride_ = padded(size) * tile_rows;
    rows_.resize(row_stride_ * tile_rows);
    columns_.resize(row_stride_ * tile_rows);
    planes_.resize(plane_stride_ * channels);
    lines_.resize(plane_stride_ * channels);
    for (int top = 0; top < output.size; top += tile_rows) {
        const int rows = std::min(tile_rows, output.size - top);
        pass_down(pixels, top, rows);
        columns_from_rows<Arithmetic>(rows_.data(), row_stride_, static_cast<int>(width), columns_.data());
        pass_across(pixels.channels, output.size);
        store(pixels.channels, output, top, rows, out);
    }
}

template <class Arithmetic>
void Resampler<Arithmetic>::pass_down(const Pixels& pixels, int top, int rows) {
    const int width = (across.high() - across.low()) * pixels.channels;
    for (int y = 0; y < rows; ++y) {
        const int o = top + y;
        const std::uint8_t* in = pixels.origin + static_cast<std::size_t>(down.first(o)) * pixels.stride;
        blend_all<Arithmetic>(in, pixels.stride, down.count(), down.weights(o),
                              rows_.data() + static_cast<std::size_t>(y) * row_stride_, width);
    }
}

template <class Arithmetic>
void Resampler<Arithmetic>::pass_across(int channels, int size) {
    const auto step = static_cast<std::size_t>(channels) * tile_rows;
    for (int o = 0; o < size; ++o) {
        const Value* in = columns_.data() + static_cast<std::size_t>(across.first(o)) * step;
        Value* out = planes_.data() + static_cast<std::size_t>(o) * tile_rows;
        for (int c = 0; c < channels; ++c, in += tile_rows, out += plane_stride_) {
            blend_all<Arithmetic>(in, step, across.count(), across.weights(o), out, tile_rows);
        }
    }
}

template <class Arithmetic>
void Resampler<Arithmetic>::store(int channels, const Output& output, int top, int rows, void* out) {
    const auto size = static_cast<std::size_t>(output.size);
    const std::size_t line_stride = padded(size);
    for (int c = 0; c < channels; ++c) {
        const std::size_t plane = static_cast<std::size_t>(c) * plane_stride_;
        rows_from_columns<Arithmetic>(planes_.data() + plane, output.size, lines_.data() + plane, line_stride);
    }
    const bool planar = output.layout == Layout::nchw;
    const std::size_t step = planar ? 1 : 3;
    for (std::size_t c = 0; c < 3; ++c) {
        const Value* line = lines_.data() + (channels == 1 ? 0 : c * plane_stride_);
        for (int y = 0; y < rows; ++y, line += line_stride) {
            const std::size_t row = (static_cast<std::size_t>(top) + static_cast<std::size_t>(y)) * size;
            const std::size_t at = planar ? c * size * size + row : row * 3 + c;
            const float scale = output.scale[c];
            const float shift = output.shift[c];
            switch (output.number) {
                case Number::uint8:
                    store_line<Arithmetic>(line, output.size, static_cast<std::uint8_t*>(out) + at, step, to_byte);
                    break;
                case Number::float32:
                    store_line<Arithmetic>(line, output.size, static_cast<float*>(out) + at, step,
                                           [=](float sample) { return sample * scale + shift; });
                    break;
                case Number::bfloat16:
                    store_line<Arithmetic>(line, output.size, static_cast<std::uint16_t*>(out) + at, step,
                                           [=](float sample) { return to_bfloat16(sample * scale + shift); });
                    break;
                case Number::float16:
                    store_line<Arithmetic>(line, output.size, static_cast<std::uint16_t*>(out) + at, step,
                                           [=](float sample) { return to_float16(sample * scale + shift); });
                    break;
            }
        }
    }
}

template class Resampler<FloatArithmetic>;
template class Resampler<FixedArithmetic>;

}  // namespace overnight
