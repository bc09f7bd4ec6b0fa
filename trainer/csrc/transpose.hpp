// Sixteen rows as columns and back, in square blocks of one vector register: the horizontal pass of the resampler
// is a vertical pass over the columns.
#pragma once

#include <cstddef>
#include <cstring>

namespace overnight {

inline constexpr int tile_rows = 16;

namespace detail {

template <class Vector, class Value>
inline constexpr int lanes = static_cast<int>(sizeof(Vector) / sizeof(Value));

template <class Vector, class Value>
Vector interleave_low(Vector a, Vector b) {
    if constexpr (lanes<Vector, Value> == 4) return __builtin_shufflevector(a, b, 0, 4, 1, 5);
    else return __builtin_shufflevector(a, b, 0, 8, 1, 9, 2, 10, 3, 11);
}

template <class Vector, class Value>
Vector interleave_high(Vector a, Vector b) {
    if constexpr (lanes<Vector, Value> == 4) return __builtin_shufflevector(a, b, 2, 6, 3, 7);
    else return __builtin_shufflevector(a, b, 4, 12, 5, 13, 6, 14, 7, 15);
}

// Interleaving the halves of the block log2(lanes) times swaps its rows and columns.
template <class Vector, class Value>
void transpose_block(const Value* from, std::size_t from_stride, Value* to, std::size_t to_stride) {
    constexpr int n = lanes<Vector, Value>;
    Vector a[n];
    Vector b[n];
    for (int i = 0; i < n; ++i) std::memcpy(&a[i], from + i * from_stride, sizeof(Vector));
    for (int step = 1; step < n; step *= 2) {
        for (int i = 0; i < n / 2; ++i) {
            b[2 * i] = interleave_low<Vector, Value>(a[i], a[i + n / 2]);
            b[2 * i + 1] = interleave_high<Vector, Value>(a[i], a[i + n / 2]);
        }
        for (int i = 0; i < n; ++i) a[i] = b[i];
    }
    for (int i = 0; i < n; ++i) std::memcpy(to + i * to_stride, &a[i], sizeof(Vector));
}

}  // namespace detail

// rows[16][stride] -> columns[width][16]; `width` rounded up to a multiple of 8 is read and written.
template <class Arithmetic>
void columns_from_rows(const typename Arithmetic::Value* rows, std::size_t stride, int width,
                       typename Arithmetic::Value* columns) {
    using Vector = typename Arithmetic::Vector;
    using Value = typename Arithmetic::Value;
    constexpr int n = detail::lanes<Vector, Value>;
    for (int x = 0; x < width; x += n) {
        for (int y = 0; y < tile_rows; y += n) {
            detail::transpose_block<Vector, Value>(rows + y * stride + x, stride,
                                                   columns + static_cast<std::size_t>(x) * tile_rows + y, tile_rows);
        }
    }
}

// columns[width][16] -> rows[16][stride], likewise.
template <class Arithmetic>
void rows_from_columns(const typename Arithmetic::Value* columns, int width, typename Arithmetic::Value* rows,
                       std::size_t stride) {
    using Vector = typename Arithmetic::Vector;
    using Value = typename Arithmetic::Value;
    constexpr int n = detail::lanes<Vector, Value>;
    for (int x = 0; x < width; x += n) {
        for (int y = 0; y < tile_rows; y += n) {
            detail::transpose_block<Vector, Value>(columns + static_cast<std::size_t>(x) * tile_rows + y, tile_rows,
                                                   rows + y * stride + x, stride);
        }
    }
}

}  // namespace overnight
