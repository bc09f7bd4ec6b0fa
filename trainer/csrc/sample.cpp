#include "sample.hpp"

#include <cstdlib>
#include <string_view>

#include "planar.hpp"

namespace overnight {
namespace {

// Scaled boxes stay at least this many times the target: halving in the DCT is a box filter, and what follows must
// still see enough samples to antialias.
constexpr double oversampling = 2.0;

int dct_eighths(const Box& box, int size) {
    const double shorter = std::min(box.right - box.left, box.bottom - box.top);
    for (int eighths : {1, 2, 4}) {
        if (shorter * eighths / 8 >= oversampling * size) return eighths;
    }
    return 8;
}

int scaled(int length, int eighths) { return (length * eighths + 7) / 8; }

template <class Arithmetic>
Status decode_and_resize(Decoder& decoder, Resampler<Arithmetic>& resampler, const Header& header, const Cut& cut,
                         int eighths, const Output& output, void* out) {
    const double scale = eighths / 8.0;
    resampler.across.prepare(cut.box.left * scale, cut.box.right * scale, scaled(header.width, eighths), output.size,
                             cut.flip);
    resampler.down.prepare(cut.box.top * scale, cut.box.bottom * scale, scaled(header.height, eighths), output.size,
                           false);
    const Region region{resampler.across.low(), resampler.down.low(), resampler.across.high(), resampler.down.high()};
    Pixels pixels;
    const Status status = decoder.decode(eighths, region, pixels);
    if (status == Status::ok) resampler.run(pixels, output, out);
    return status;
}

bool libjpeg_is_forced() {
    const char* forced = std::getenv("OVERNIGHT_DECODER");
    return forced != nullptr && std::string_view(forced) == "libjpeg";
}

}  // namespace

bool fits(const Cut& cut, int width, int height) {
    constexpr double slack = 1e-6;  // boxes come from divisions
    if (cut.width != 0 && (cut.width != width || cut.height != height)) return false;
    const Box& box = cut.box;
    return box.left >= -slack && box.top >= -slack && box.right > box.left && box.bottom > box.top &&
           box.right <= width + slack && box.bottom <= height + slack;
}

SampleMaker::SampleMaker(std::unique_ptr<Decoder> decoder)
    : SampleMaker(std::move(decoder), libjpeg_is_forced() ? nullptr : &kernels()) {}

SampleMaker::SampleMaker(std::unique_ptr<Decoder> decoder, const Kernels* own) : decoder_(std::move(decoder)) {
    if (own != nullptr) planar_ = std::make_unique<PlanarMaker>(*own);
}

SampleMaker::~SampleMaker() = default;
SampleMaker::SampleMaker(SampleMaker&&) noexcept = default;

Status SampleMaker::make(std::span<const std::uint8_t> file, const Cut& cut, Precision precision, const Output& output,
                         void* out) {
    if (precision == Precision::fast && planar_) {
        if (const std::optional<Status> own = planar_->make(file, cut, output, out)) return *own;
    }
    Header header;
    const Status status = decoder_->read_header(file, header);
    if (status != Status::ok) return status;
    if (!fits(cut, header.width, header.height)) return Status::wrong_size;
    if (precision == Precision::exact) {
        return decode_and_resize(*decoder_, exact_, header, cut, 8, output, out);
    }
    const int eighths = header.scalable ? dct_eighths(cut.box, output.size) : 8;
    return decode_and_resize(*decoder_, fast_, header, cut, eighths, output, out);
}

}  // namespace overnight
