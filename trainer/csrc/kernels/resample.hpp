// Planes to the target's pixels, a tile of its rows at a time so that everything between stays in the first cache:
// each plane down, then across, from wherever it stands (full, half, DCT-scaled) straight to the target's grid; colour
// only there, where there are fewest pixels.

namespace overnight::OVERNIGHT_ISA {

inline constexpr int tile = resample_tile_rows;

template <int number>
struct Constant {
    static constexpr int value = number;
};

// The weights of an output's samples. A constant number of them, as nearly all planes need, stays in registers.
template <int constant>
struct Weights {
    Lanes weight[constant];

    [[gnu::always_inline]] Weights(const std::int16_t* from, int) {
        for (int k = 0; k < constant; ++k) weight[k] = all(from[k]);
    }
    [[gnu::always_inline]] int count() const { return constant; }
    [[gnu::always_inline]] Lanes operator[](int k) const { return weight[k]; }
};

template <>
struct Weights<0> {
    const std::int16_t* from;
    int number;

    [[gnu::always_inline]] Weights(const std::int16_t* weights, int count) : from(weights), number(count) {}
    [[gnu::always_inline]] int count() const { return number; }
    [[gnu::always_inline]] Lanes operator[](int k) const { return all(from[k]); }
};

// The weighted sum of lines of 32 samples, `stride` apart.
template <int constant, class Sample>
[[gnu::always_inline]] inline Lanes blend(const Sample* from, std::size_t stride, const Weights<constant>& weights) {
    Lanes sum = scaled(load(from), weights[0]);
    for (int k = 1; k < weights.count(); ++k) {
        sum = plus(sum, scaled(load(from + static_cast<std::size_t>(k) * stride), weights[k]));
    }
    return sum;
}

// Rows of the plane to rows of the tile.
template <int constant>
inline void pass_down(const ResampleJob& job, int top, int rows, std::size_t stride, std::int16_t* to) {
    for (int o = top; o < top + rows; ++o, to += stride) {
        const std::uint8_t* from = job.origin + static_cast<std::size_t>(job.down_first[o] - job.down_low) * job.stride;
        const Weights<constant> weights(job.down_weights + o * job.down_count, job.down_count);
        for (int x = 0; x < job.width; x += 32) store(to + x, blend(from + x, job.stride, weights));
    }
}

// Columns of the plane to the columns [left, end) of the target.
template <int constant>
inline void pass_across(const ResampleJob& job, const std::int16_t* columns, int left, int end, std::int16_t* to) {
    for (int o = left; o < end; ++o, to += tile) {
        const std::int16_t* from = columns + static_cast<std::size_t>(job.across_first[o] - job.across_low) * tile;
        store(to, blend(from, tile, Weights<constant>(job.across_weights + o * job.across_count, job.across_count)));
    }
}

// Calls `pass` with `count` as a constant where it is small, else with 0.
template <class Pass>
[[gnu::always_inline]] inline void with_constant(int count, Pass pass) {
    switch (count) {
        case 1: return pass(Constant<1>{});
        case 2: return pass(Constant<2>{});
        case 3: return pass(Constant<3>{});
        case 4: return pass(Constant<4>{});
        case 5: return pass(Constant<5>{});
        default: return pass(Constant<0>{});
    }
}

// One plane's rows for the tile, as columns of 32.
inline void make_columns(const ResampleJob& job, int top, int rows, const ResampleScratch& scratch,
                         std::int16_t* columns) {
    const std::size_t stride = scratch.row_stride;
    with_constant(job.down_count, [&](auto count) { pass_down<count.value>(job, top, rows, stride, scratch.rows); });
    for (int x = 0; x < job.width; x += 8) {
        columns_of_rows(scratch.rows + x, stride, columns + static_cast<std::size_t>(x) * tile);
    }
}

// YCbCr to RGB in place, six fractional bits: JFIF's factors, each above 1/2 split into a whole and a remainder.
inline void to_colour(std::int16_t* y, std::int16_t* cb, std::int16_t* cr, int count) {
    const Lanes centre = all(128 * 64);
    const Lanes black = zero();
    const Lanes white = all(255 * 64);
    for (int i = 0; i < count; i += 32) {
        const Lanes luma = load(y + i);
        const Lanes blue_part = minus(load(cb + i), centre);
        const Lanes red_part = minus(load(cr + i), centre);
        const Lanes red = plus(plus(luma, red_part), scaled(red_part, all(13173)));
        const Lanes blue = plus(plus(luma, blue_part), scaled(blue_part, all(25297)));
        const Lanes green =
            plus(minus(plus(luma, scaled(blue_part, all(-11277))), red_part), scaled(red_part, all(9367)));
        store(y + i, clamped(red, black, white));
        store(cb + i, clamped(green, black, white));
        store(cr + i, clamped(blue, black, white));
    }
}

struct ToUint8 {
    using Value = std::uint8_t;
    [[gnu::always_inline]] static Value convert(std::int16_t sample, float, float) {
        const int rounded = (sample + 32) >> 6;
        return static_cast<Value>(rounded > 255 ? 255 : rounded);  // hundreds of rounded products may exceed white
    }
};

[[gnu::always_inline]] inline float normalised(std::int16_t sample, float scale, float shift) {
    return static_cast<float>(sample) * scale + shift;
}

struct ToFloat32 {
    using Value = float;
    [[gnu::always_inline]] static Value convert(std::int16_t sample, float scale, float shift) {
        return normalised(sample, scale, shift);
    }
};

struct ToBfloat16 {
    using Value = std::uint16_t;
    [[gnu::always_inline]] static Value convert(std::int16_t sample, float scale, float shift) {
        return to_bfloat16(normalised(sample, scale, shift));
    }
};

struct ToFloat16 {
    using Value = std::uint16_t;
    [[gnu::always_inline]] static Value convert(std::int16_t sample, float scale, float shift) {
        return to_float16(normalised(sample, scale, shift));
    }
};

// Past the caches: nobody reads the batch before it is full, and what it would push out is needed again at once.
[[gnu::always_inline]] inline void copy_past_caches(void* to, const void* from, std::size_t bytes) {
#if defined(__AVX2__)
    if ((reinterpret_cast<std::uintptr_t>(to) & 31) == 0) {
        auto* target = static_cast<__m256i*>(to);
        const auto* source = static_cast<const __m256i*>(from);
        const std::size_t whole = bytes / 32;
        for (std::size_t i = 0; i < whole; ++i) _mm256_stream_si256(target + i, _mm256_loadu_si256(source + i));
        __builtin_memcpy(target + whole, source + whole, bytes - whole * 32);
        return;
    }
#endif
    __builtin_memcpy(to, from, bytes);
}

// One channel of a row to its place. `line`: memory for it, where it cannot be written straight away.
template <class To>
[[gnu::always_inline]] inline void write_line(const std::int16_t* samples, std::size_t size, float scale, float shift,
                                              typename To::Value* line, typename To::Value* out) {
#if defined(__AVX2__)
    if constexpr (sizeof *out == sizeof(float)) {
        if (size % 8 == 0 && (reinterpret_cast<std::uintptr_t>(out) & 31) == 0) {
            const __m256 factor = _mm256_set1_ps(scale);
            const __m256 summand = _mm256_set1_ps(shift);
            for (std::size_t x = 0; x < size; x += 8) {
                const __m256 value = _mm256_cvtepi32_ps(_mm256_cvtepi16_epi32(load_half(samples + x)));
                _mm256_stream_ps(out + x, _mm256_add_ps(_mm256_mul_ps(value, factor), summand));
            }
            return;
        }
    }
#endif
    for (std::size_t x = 0; x < size; ++x) line[x] = To::convert(samples[x], scale, shift);
    copy_past_caches(out, line, size * sizeof *out);
}

[[gnu::always_inline]] inline const std::int16_t* line_of(const FinishJob& job, const ResampleScratch& scratch, int c,
                                                          int y) {
    return scratch.lines + static_cast<std::size_t>((job.colour ? c * tile : 0) + y) * scratch.line_stride;
}

// The tile's rows to their places: NCHW.
template <class To>
inline void write_planes(const FinishJob& job, const ResampleScratch& scratch, int top, int rows) {
    using Value = typename To::Value;
    const auto size = static_cast<std::size_t>(job.size);
    alignas(64) Value line[resample_line_limit];
    for (int c = 0; c < 3; ++c) {
        auto* out = static_cast<Value*>(job.out) + static_cast<std::size_t>(c * job.size + top) * size;
        for (int y = 0; y < rows; ++y, out += size) {
            write_line<To>(line_of(job, scratch, c, y), size, job.scale[c] * (1.0F / 64.0F), job.shift[c], line, out);
        }
    }
}

// NHWC.
template <class To>
inline void write_pixels(const FinishJob& job, const ResampleScratch& scratch, int top, int rows) {
    using Value = typename To::Value;
    const auto size = static_cast<std::size_t>(job.size);
    alignas(64) Value line[3 * resample_line_limit];
    auto* out = static_cast<Value*>(job.out) + 3 * static_cast<std::size_t>(top) * size;
    for (int y = 0; y < rows; ++y, out += 3 * size) {
        for (int c = 0; c < 3; ++c) {
            const std::int16_t* from = line_of(job, scratch, c, y);
            const float scale = job.scale[c] * (1.0F / 64.0F);
            const float shift = job.shift[c];
            for (std::size_t x = 0; x < size; ++x) line[3 * x + c] = To::convert(from[x], scale, shift);
        }
        copy_past_caches(out, line, 3 * size * sizeof *line);
    }
}

template <class To>
inline void write_as(const FinishJob& job, const ResampleScratch& scratch, int top, int rows) {
    if (job.interleaved) return write_pixels<To>(job, scratch, top, rows);
    write_planes<To>(job, scratch, top, rows);
}

inline void write(const FinishJob& job, const ResampleScratch& scratch, int top, int rows) {
    switch (job.number) {
        case Number::uint8: return write_as<ToUint8>(job, scratch, top, rows);
        case Number::float32: return write_as<ToFloat32>(job, scratch, top, rows);
        case Number::bfloat16: return write_as<ToBfloat16>(job, scratch, top, rows);
        case Number::float16: return write_as<ToFloat16>(job, scratch, top, rows);
    }
}

// Makes the rows [top, top + rows) of the target: scratch.lines.
inline void render_tile(const ResampleJob* planes, const FinishJob& job, const ResampleScratch& scratch, int top,
                        int rows) {
    const int channels = job.colour ? 3 : 1;
    const std::size_t plane = scratch.row_stride * tile;
    alignas(64) std::int16_t columns[3 * tile * tile];
    for (int c = 0; c < channels; ++c) make_columns(planes[c], top, rows, scratch, scratch.columns + c * plane);
    for (int left = 0; left < job.size; left += tile) {
        const int width = job.size - left < tile ? job.size - left : tile;
        for (int c = 0; c < channels; ++c) {
            with_constant(planes[c].across_count, [&](auto count) {
                pass_across<count.value>(planes[c], scratch.columns + c * plane, left, left + width,
                                         columns + c * tile * tile);
            });
        }
        if (job.colour) to_colour(columns, columns + tile * tile, columns + 2 * tile * tile, width * tile);
        for (int c = 0; c < channels; ++c) {
            std::int16_t* lines = scratch.lines + static_cast<std::size_t>(c * tile) * scratch.line_stride + left;
            for (int x = 0; x < width; x += 8) {
                rows_of_columns(columns + (c * tile + x) * tile, lines + x, scratch.line_stride);
            }
        }
    }
}

}  // namespace overnight::OVERNIGHT_ISA
