// Digests of what the own decoder makes of files, for comparing machines and compilers: `digest PATH...` prints a line
// a file. Links nothing but the own decoder.
#include <cinttypes>
#include <cstdio>

#include "choice.hpp"
#include "planar.hpp"

namespace overnight {
namespace {

std::uint64_t digest_of(std::optional<Status> status, std::uint64_t before) {
    const std::uint8_t number = status ? static_cast<std::uint8_t>(*status) : std::uint8_t{255};
    return hash_of(&number, 1, before);
}

// The samples inside the picture: what lies behind them in their rows is nobody's.
std::uint64_t digest_of(const PlanarMaker::Planes& planes, std::uint64_t hash) {
    for (int k = 0; k < planes.frame.components; ++k) {
        const int wide = planes.frame.units_across() * planes.frame.component[k].across * planes.side;
        const std::size_t rows = planes.samples[k].size() / planes.stride[k];
        for (std::size_t y = 0; y < rows; ++y) {
            hash = hash_of(planes.samples[k].data() + y * planes.stride[k], static_cast<std::size_t>(wide), hash);
        }
    }
    return hash;
}

std::uint64_t digest_of_planes(PlanarMaker& maker, std::span<const std::uint8_t> file) {
    std::uint64_t hash = hash_of(nullptr, 0);
    for (const int side : {8, 4, 2, 1}) {
        PlanarMaker::Planes planes;
        const auto status = maker.planes(file, side, planes);
        hash = digest_of(status, hash);
        if (status == Status::ok) hash = digest_of(planes, hash);
    }
    return hash;
}

std::uint64_t digest_of_samples(PlanarMaker& maker, std::span<const std::uint8_t> file) {
    std::uint64_t hash = hash_of(nullptr, 0);
    const auto tables = std::make_unique<Tables>();
    Frame frame;
    if (!read_frame(file, frame, *tables)) return hash;
    Choice choice(file);
    for (int i = 0; i < 8; ++i) {
        Output output = choice.output();
        output.number = static_cast<Number>(i % 4);
        std::vector<std::uint8_t> sample(bytes_of(output));
        const auto status = maker.make(file, choice.cut(frame.width, frame.height), output, sample.data());
        hash = digest_of(status, hash);
        if (status == Status::ok) hash = hash_of(sample.data(), sample.size(), hash);
    }
    return hash;
}

}  // namespace
}  // namespace overnight

int main(int count, char** arguments) {
    using namespace overnight;
    PlanarMaker maker(kernels());
    std::size_t files = 0;
    for (int i = 1; i < count; ++i) {
        for (const std::string& path : files_named(arguments[i])) {
            const auto file = read_file(path);
            std::printf("%016" PRIx64 " %016" PRIx64 " %s\n", digest_of_planes(maker, file),
                        digest_of_samples(maker, file), path.substr(path.rfind('/') + 1).c_str());
            ++files;
        }
    }
    std::fprintf(stderr, "digest: %zu files by the %s kernels\n", files, kernels().name);
    return files == 0 ? 2 : 0;
}
