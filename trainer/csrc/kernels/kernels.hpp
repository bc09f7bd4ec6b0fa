// The loops that a picture's time goes into, compiled once for each instruction set and chosen when the program runs.
//
// Each set's file (baseline.cpp, avx2.cpp) includes the same headers under a namespace of its own. Those headers use
// plain structures and pointers and no inline function of the standard library: the linker keeps one copy of such a
// function, and it could be the one compiled for instructions that this machine lacks.
#pragma once

#include <cstddef>
#include <cstdint>

#include "../jpeg/huffman.hpp"

namespace overnight {

// Bytes behind the coded data that may be read: what the largest unit of a damaged file can ask for.
inline constexpr std::size_t data_padding = 4096;

enum class DataEnd : std::uint8_t { end_marker, other_marker, nothing, odd_restarts };

// The coded data without the stuffing that keeps 0xFF from looking like a marker.
struct Unstuffed {
    std::uint8_t* data = nullptr;       // in: room for the input and `data_padding`
    std::uint32_t* segments = nullptr;  // in: room for `segments_expected`; where the data of each interval begins
    std::size_t segments_expected = 1;
    std::size_t size = 0;
    std::size_t segments_found = 0;
    DataEnd end = DataEnd::nothing;
};

// One component's part of a scan.
struct PlaneJob {
    int across = 1;  // blocks of a unit
    int down = 1;
    int side = 8;  // samples of a block that are made: 8, 4, 2 or 1 (decoding at side / 8); 0: only coefficients
    const std::int16_t* quantization = nullptr;
    const HuffmanTable* dc = nullptr;
    const HuffmanTable* ac = nullptr;
    std::uint8_t* out = nullptr;  // the first sample of unit (left, top)
    std::size_t stride = 0;
};

// Decode the units [left, right) x [top, bottom) of a scan; what lies outside is skipped, what comes after not read.
struct ScanJob {
    int components = 0;
    PlaneJob plane[3];
    int units_across = 0;
    int left = 0;
    int top = 0;
    int right = 0;
    int bottom = 0;
    int restart_interval = 0;
    Unstuffed input;
};

// Rows of the target that are made at a time, and the most pixels that one of its rows may have.
inline constexpr int resample_tile_rows = 32;
inline constexpr int resample_line_limit = 4096;

// One plane's way to the target: rows, then columns (resample.hpp has the idea).
struct ResampleJob {
    const std::uint8_t* origin = nullptr;  // the first sample that any output needs
    std::size_t stride = 0;
    int width = 0;  // samples of a row that outputs need
    int size = 0;   // of the target, pixels
    const int* across_first = nullptr;
    int across_count = 0;  // samples that an output looks at, and weights from one output to the next
    const std::int16_t* across_weights = nullptr;
    int across_low = 0;  // what `across_first` counts beyond the origin
    const int* down_first = nullptr;
    int down_count = 0;
    const std::int16_t* down_weights = nullptr;
    int down_low = 0;
};

enum class Number : std::uint8_t { uint8, float32, bfloat16, float16 };

constexpr std::size_t bytes_of(Number number) {
    return number == Number::uint8 ? 1 : number == Number::float32 ? 4 : 2;
}

// Memory between the steps, at least as large as said; rows of planes may be read up to 32 samples beyond `width`.
struct ResampleScratch {
    std::size_t row_stride = 0;       // a multiple of 32, at least the widest plane's width
    std::int16_t* rows = nullptr;     // [tile rows][row_stride]
    std::int16_t* columns = nullptr;  // [3][row_stride][tile rows]
    std::size_t line_stride = 0;      // the target's size, rounded up to a multiple of 32
    std::int16_t* lines = nullptr;    // [3][tile rows][line_stride]
};

// What the target's pixels become.
struct FinishJob {
    int size = 0;
    bool colour = true;        // three planes YCbCr; false: one plane, grey
    bool interleaved = false;  // NHWC
    Number number = Number::uint8;
    float scale[3] = {1, 1, 1};
    float shift[3] = {0, 0, 0};
    void* out = nullptr;  // null: the pixels are made and not written
};

struct Kernels {
    const char* name;
    // Takes the stuffing out of `size` bytes at `data`, up to the next marker that is no restart marker.
    void (*unstuff)(const std::uint8_t* data, std::size_t size, Unstuffed& result);
    // False: the stream is damaged (a code that is none, a block that is too long, data that end too early).
    bool (*decode_scan)(const ScanJob& job);
    // The same, and on to the finished sample; `planes`: three for colour, one for grey. What is written of a damaged
    // stream means nothing.
    bool (*make_sample)(const ScanJob& scan, const ResampleJob* planes, const FinishJob& job,
                        const ResampleScratch& scratch);
};

// The best that this machine can do; OVERNIGHT_SIMD=baseline in the environment forces the plain one.
const Kernels& kernels();

// Those of one name ("baseline", "avx2", "neon"), for tests; null when this machine or build lacks them.
const Kernels* kernels_named(const char* name);

}  // namespace overnight
