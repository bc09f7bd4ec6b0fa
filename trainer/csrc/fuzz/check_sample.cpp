#include "check_sample.hpp"

#include <cstring>
#include <memory>
#include <new>
#include <stdexcept>

#include "choice.hpp"
#include "jpeg_decoder.hpp"
#include "jpeg_planes.hpp"
#include "planar.hpp"
#include "transcode.hpp"

namespace overnight {
namespace {

// Beyond, a file takes longer than it teaches.
constexpr std::int64_t most_pixels = 1 << 18;
constexpr int times_one_maker = 3;  // the third makes the large skip tables

[[noreturn]] void fail(const char* sentence) { throw std::logic_error(sentence); }

// Exactly as many bytes as a sample has, so that a sanitizer sees the first one beyond; aligned for streaming stores
// or not.
class Memory {
public:
    Memory(std::size_t size, bool aligned)
        : shift_(aligned ? 0 : 4), size_(size), data_(static_cast<std::uint8_t*>(::operator new(size + shift_, line))) {
        std::memset(data_, 0, size + shift_);
    }
    ~Memory() { ::operator delete(data_, line); }
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    std::uint8_t* sample() { return data_ + shift_; }
    bool operator==(const Memory& other) const {
        return std::memcmp(data_ + shift_, other.data_ + other.shift_, size_) == 0;
    }

private:
    static constexpr std::align_val_t line{64};
    std::size_t shift_;
    std::size_t size_;
    std::uint8_t* data_;
};

struct Request {
    std::span<const std::uint8_t> file;
    Cut cut;
    Output output;
};

void check_kernels(const Request& request, std::optional<Status> expected, const Memory& sample, const char* name) {
    const Kernels* chosen = kernels_named(name);
    if (chosen == nullptr) return;
    PlanarMaker maker(*chosen);
    for (int i = 0; i < times_one_maker; ++i) {
        Memory again(bytes_of(request.output), i != 1);
        if (maker.make(request.file, request.cut, request.output, again.sample()) != expected) {
            fail("instruction sets or repetitions disagree about a status");
        }
        if (expected == Status::ok && !(again == sample)) fail("instruction sets or repetitions disagree about pixels");
    }
}

void check_own(const Request& request) {
    PlanarMaker maker(kernels());
    Memory sample(bytes_of(request.output), true);
    const std::optional<Status> status = maker.make(request.file, request.cut, request.output, sample.sample());
    for (const char* name : {"baseline", "avx2", "neon"}) check_kernels(request, status, sample, name);
}

void check_maker(SampleMaker& maker, const Request& request, Precision precision) {
    Memory sample(bytes_of(request.output), true);
    const Status status = maker.make(request.file, request.cut, precision, request.output, sample.sample());
    if (precision != Precision::fast && status != Status::ok && !(sample == Memory(bytes_of(request.output), true))) {
        fail("a bad file's sample was written to");
    }
}

void check_rewrite(std::span<const std::uint8_t> file, int rows_per_restart) {
    std::vector<std::uint8_t> once;
    if (rewrite(file, rows_per_restart, once) != Status::ok) return;
    std::vector<std::uint8_t> twice;
    if (rewrite(once, rows_per_restart, twice) != Status::ok || once != twice) {
        fail("a rewritten file is not rewritten to itself");
    }
    static_cast<void>(decoders_agree(once));
}

bool same_plane(const PlanarMaker::Planes& own, std::size_t component, const LibjpegPlane& plane) {
    const std::vector<std::uint8_t>& samples = own.samples[component];
    const auto width = static_cast<std::size_t>(plane.width);
    for (std::size_t y = 0; y < static_cast<std::size_t>(plane.height); ++y) {
        if (std::memcmp(samples.data() + y * own.stride[component], plane.samples.data() + y * width, width) != 0) {
            return false;
        }
    }
    return true;
}

}  // namespace

void check_sample(std::span<const std::uint8_t> file) {
    Choice choice(file);
    SampleMaker maker(std::make_unique<JpegDecoder>());
    Header header;
    const Status status = maker.read_header(file, header);
    const auto tables = std::make_unique<Tables>();
    Frame frame;
    const bool ours = read_frame(file, frame, *tables);
    const int width = ours ? frame.width : header.width;
    const int height = ours ? frame.height : header.height;
    if ((!ours && status != Status::ok) || std::int64_t{width} * height > most_pixels) return;
    const Output output = choice.output();
    const Request request{file, choice.cut(width, height), output};
    if (ours) check_own(request);
    check_maker(maker, request, Precision::fast);
    check_maker(maker, request, Precision::exact);
    if (choice.of(4) == 0) check_rewrite(file, choice.of(3));
}

bool check_planes(std::span<const std::uint8_t> file) {
    bool compared = false;
    for (const int eighths : {8, 4, 2, 1}) {
        std::vector<LibjpegPlane> planes;
        if (libjpeg_planes(file, eighths, planes) != Status::ok) continue;
        for (const char* name : {"baseline", "avx2", "neon"}) {
            const Kernels* chosen = kernels_named(name);
            if (chosen == nullptr) continue;
            PlanarMaker maker(*chosen);
            for (std::size_t k = 0; k < planes.size(); ++k) {
                PlanarMaker::Planes own;
                const std::optional<Status> status = maker.planes(file, planes[k].side, own);
                if (!status) return false;
                if (*status != Status::ok) fail("libjpeg finds nothing wrong with what the own decoder refuses");
                if (!same_plane(own, k, planes[k])) fail("a plane is not libjpeg's");
                compared = true;
            }
        }
    }
    return compared;
}

}  // namespace overnight
