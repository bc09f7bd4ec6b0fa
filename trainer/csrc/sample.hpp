// From the bytes of one picture to one sample of a batch: decode what the box needs, resize, flip, normalise.
#pragma once

#include <memory>
#include <span>

#include "arithmetic.hpp"
#include "decoder.hpp"
#include "resample.hpp"

namespace overnight {

// exact: full-size decode and float arithmetic, for evaluation and prediction.
// fast: for training. The own decoder's planes where it reads the file (planar.hpp), fast_rgb where not.
// fast_rgb: libjpeg's colours, DCT-scaled where the box is at least twice the target. Both in 16-bit arithmetic.
enum class Precision : std::uint8_t { exact, fast, fast_rgb };

struct Box {
    double left = 0;
    double top = 0;
    double right = 0;
    double bottom = 0;
};

// What to cut from a picture. Width and height are what the caller believes; 0 means "not known".
struct Cut {
    Box box;
    int width = 0;
    int height = 0;
    bool flip = false;
};

// Whether the cut's size is the picture's, and its box inside it.
bool fits(const Cut& cut, int width, int height);

class PlanarMaker;
struct Kernels;

// One worker's decoder and scratch memory; reused from sample to sample, never shared.
class SampleMaker {
public:
    explicit SampleMaker(std::unique_ptr<Decoder> decoder);
    SampleMaker(std::unique_ptr<Decoder> decoder, const Kernels* own);  // null: libjpeg decodes every file
    ~SampleMaker();
    SampleMaker(SampleMaker&&) noexcept;

    // Writes one sample to `out`; on any status but ok what stands there means nothing.
    Status make(std::span<const std::uint8_t> file, const Cut& cut, Precision precision, const Output& output,
                void* out);

    Status read_header(std::span<const std::uint8_t> file, Header& header) {
        return decoder_->read_header(file, header);
    }

    Decoder& decoder() { return *decoder_; }

private:
    std::unique_ptr<Decoder> decoder_;
    std::unique_ptr<PlanarMaker> planar_;  // null: libjpeg decodes every file
    Resampler<FloatArithmetic> exact_;
    Resampler<FixedArithmetic> fast_;
};

}  // namespace overnight
