// Planes to the target's pixels, a tile of its rows at a time so that everything between stays in the first cache:
// each plane down, then across, from wherever it stands (full, half, DCT-scaled) straight to the target's grid; colour
// only there, where there are fewest pixels.

namespace overnight::OVERNIGHT_ISA {

inline constexpr int tile = resample_tile_rows;

[[gnu::always_inline]] inline std::size_t line_length(int size) {
    return static_cast<std::size_t>(size + 15) & ~std::size_t{15};
}

// One row of the tile: the weighted sum of the plane's rows that it covers.
[[gnu::always_inline]] inline void blend_rows(const std::uint8_t* from, std::size_t stride, int width, int count,
                                              const std::int16_t* weights, std::int16_t* to) {
    for (int x = 0; x < width; x += 32) {
        Lanes low = zero();
        Lanes high = zero();
        const std::uint8_t* row = from + x;
        for (int k = 0; k < count; ++k, row += stride) {
            const Lanes weight = all(weights[k]);
            low = plus(low, scaled(load_bytes(row), weight));
            high = plus(high, scaled(load_bytes(row + 16), weight));
        }
        store(to + x, low);
        store(to + x + 16, high);
    }
}

// One column of the tile, likewise.
[[gnu::always_inline]] inline void blend_columns(const std::int16_t* from, int count, const std::int16_t* weights,
                                                 std::int16_t* to) {
    Lanes upper = zero();
    Lanes lower = zero();
    for (int k = 0; k < count; ++k, from += tile) {
        const Lanes weight = all(weights[k]);
        upper = plus(upper, scaled(load(from), weight));
        lower = plus(lower, scaled(load(from + 16), weight));
    }
    store(to, upper);
    store(to + 16, lower);
}

// One plane's part of the tile, as columns: to[x][tile].
inline void resample_plane(const ResampleJob& job, int top, int rows, const ResampleScratch& scratch,
                           std::int16_t* to) {
    const std::size_t stride = scratch.row_stride;
    for (int y = 0; y < rows; ++y) {
        const int o = top + y;
        blend_rows(job.origin + static_cast<std::size_t>(job.down_first[o] - job.down_low) * job.stride, job.stride,
                   job.width, job.down_count[o], job.down_weights + static_cast<std::size_t>(o) * job.down_capacity,
                   scratch.rows + static_cast<std::size_t>(y) * stride);
    }
    for (int x = 0; x < job.width; x += 8) {
        for (int y = 0; y < rows; y += 8) {
            transpose_block(scratch.rows + static_cast<std::size_t>(y) * stride + x, stride,
                            scratch.columns + static_cast<std::size_t>(x) * tile + y, tile);
        }
    }
    for (int o = 0; o < job.size; ++o) {
        blend_columns(scratch.columns + static_cast<std::size_t>(job.across_first[o] - job.across_low) * tile,
                      job.across_count[o], job.across_weights + static_cast<std::size_t>(o) * job.across_capacity,
                      to + static_cast<std::size_t>(o) * tile);
    }
}

// YCbCr to RGB in place, six fractional bits: JFIF's factors, each above 1/2 split into a whole and a remainder.
inline void to_colour(std::int16_t* y, std::int16_t* cb, std::int16_t* cr, std::size_t count) {
    const Lanes centre = all(128 * 64);
    const Lanes black = zero();
    const Lanes white = all(255 * 64);
    for (std::size_t i = 0; i < count; i += 16) {
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

template <class To>
inline void write_tile(const FinishJob& job, int top, int rows, const ResampleScratch& scratch) {
    using Value = typename To::Value;
    const auto size = static_cast<std::size_t>(job.size);
    const std::size_t length = line_length(job.size);
    alignas(64) Value line[3 * resample_line_limit];
    auto* out = static_cast<Value*>(job.out);
    for (int y = 0; y < rows; ++y) {
        const std::size_t row = static_cast<std::size_t>(top + y) * size;
        for (std::size_t c = 0; c < 3; ++c) {
            const std::int16_t* samples =
                scratch.lines + (job.colour ? c * tile * length : 0) + static_cast<std::size_t>(y) * length;
            const float scale = job.scale[c] * (1.0F / 64.0F);
            const float shift = job.shift[c];
            if (job.interleaved) {
                for (std::size_t x = 0; x < size; ++x) line[3 * x + c] = To::convert(samples[x], scale, shift);
            } else {
                for (std::size_t x = 0; x < size; ++x) line[x] = To::convert(samples[x], scale, shift);
                copy_past_caches(out + c * size * size + row, line, size * sizeof(Value));
            }
        }
        if (job.interleaved) copy_past_caches(out + 3 * row, line, 3 * size * sizeof(Value));
    }
}

inline void render(const ResampleJob* planes, const FinishJob& job, const ResampleScratch& scratch) {
    const int channels = job.colour ? 3 : 1;
    const std::size_t length = line_length(job.size);
    const std::size_t plane = length * tile;
    for (int top = 0; top < job.size; top += tile) {
        const int rows = job.size - top < tile ? job.size - top : tile;
        for (int c = 0; c < channels; ++c) {
            resample_plane(planes[c], top, rows, scratch, scratch.planes + static_cast<std::size_t>(c) * plane);
        }
        if (job.colour) {
            to_colour(scratch.planes, scratch.planes + plane, scratch.planes + 2 * plane,
                      static_cast<std::size_t>(job.size) * tile);
        }
        for (int c = 0; c < channels; ++c) {
            const std::size_t first = static_cast<std::size_t>(c) * plane;
            for (std::size_t x = 0; x < length; x += 8) {
                for (int y = 0; y < rows; y += 8) {
                    transpose_block(scratch.planes + first + x * tile + static_cast<std::size_t>(y), tile,
                                    scratch.lines + first + static_cast<std::size_t>(y) * length + x, length);
                }
            }
        }
        if (job.out == nullptr) continue;
        switch (job.number) {
            case Number::uint8: write_tile<ToUint8>(job, top, rows, scratch); break;
            case Number::float32: write_tile<ToFloat32>(job, top, rows, scratch); break;
            case Number::bfloat16: write_tile<ToBfloat16>(job, top, rows, scratch); break;
            case Number::float16: write_tile<ToFloat16>(job, top, rows, scratch); break;
        }
    }
#if defined(__AVX2__)
    _mm_sfence();
#endif
}

}  // namespace overnight::OVERNIGHT_ISA
