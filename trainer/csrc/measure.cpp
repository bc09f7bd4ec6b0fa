#include "measure.hpp"

#include <ctime>
#include <map>
#include <memory>
#include <vector>

#include "jpeg_decoder.hpp"
#include "planar.hpp"

namespace overnight {
namespace {

double thread_seconds() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Runs `step` on every picture; the seconds that all took.
template <class Step>
double timed(const Pictures& pictures, std::uint8_t* statuses, Step step) {
    const double before = thread_seconds();
    for (std::size_t i = 0; i < pictures.count; ++i) {
        const std::optional<Status> status = step(i);
        statuses[i] = static_cast<std::uint8_t>(status.value_or(Status::unsupported));
    }
    return thread_seconds() - before;
}

// Makers stay from call to call, as a loader's do: tables are built and memory is touched for the first time only once.
PlanarMaker& planar_maker(const Kernels& kernels) {
    thread_local std::map<const Kernels*, PlanarMaker> makers;
    return makers.try_emplace(&kernels, kernels).first->second;
}

SampleMaker& sample_maker(const Kernels* own) {
    thread_local std::map<const Kernels*, SampleMaker> makers;
    const auto known = makers.find(own);
    if (known != makers.end()) return known->second;
    return makers.emplace(own, SampleMaker(std::make_unique<JpegDecoder>(), own)).first->second;
}

// Where each crop lies is found out beforehand: it belongs to the resampling.
double decoding(PlanarMaker& maker, const Pictures& pictures, int size, bool samples, std::uint8_t* statuses) {
    std::vector<PlanarMaker::Window> windows(pictures.count);
    std::vector<std::optional<Status>> found(pictures.count);
    for (std::size_t i = 0; i < pictures.count; ++i) {
        found[i] = maker.window(pictures.file(i), pictures.cut(i), size, windows[i]);
    }
    return timed(pictures, statuses, [&](std::size_t i) {
        if (found[i] != Status::ok) return found[i];
        return maker.decode_window(pictures.file(i), windows[i], samples);
    });
}

double rendering(PlanarMaker& maker, const Pictures& pictures, const Output& output, std::uint8_t* out,
                 std::size_t bytes, std::uint8_t* statuses) {
    return timed(pictures, statuses, [&](std::size_t i) {
        return maker.make(pictures.file(i), pictures.cut(i), output, out == nullptr ? nullptr : out + i * bytes);
    });
}

}  // namespace

Cut Pictures::cut(std::size_t i) const {
    const double* box = boxes + 4 * i;
    return {.box = {box[0], box[1], box[2], box[3]}, .flip = flips[i] != 0};
}

double measure(Part part, const Kernels& kernels, const Pictures& pictures, const Output& output, std::uint8_t* out,
               std::uint8_t* statuses) {
    const auto side = static_cast<std::size_t>(output.size);
    const std::size_t bytes = side * side * 3 * bytes_of(output.number);
    PlanarMaker& own = planar_maker(kernels);
    switch (part) {
        case Part::entropy: return decoding(own, pictures, output.size, false, statuses);
        case Part::planes: return decoding(own, pictures, output.size, true, statuses);
        case Part::pixels: return rendering(own, pictures, output, nullptr, 0, statuses);
        case Part::sample: return rendering(own, pictures, output, out, bytes, statuses);
        case Part::libjpeg:
        case Part::exact: break;
    }
    const Precision precision = part == Part::exact ? Precision::exact : Precision::fast;
    SampleMaker& maker = sample_maker(part == Part::exact ? &kernels : nullptr);
    return timed(pictures, statuses, [&](std::size_t i) {
        return std::optional(maker.make(pictures.file(i), pictures.cut(i), precision, output, out + i * bytes));
    });
}

}  // namespace overnight
