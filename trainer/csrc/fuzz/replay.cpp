// Goes through files as the fuzzer would: `replay ORDINARY [OTHER...]`, folders or files. Of the ordinary ones, which
// are valid, the planes must be libjpeg's too.
#include <cstdio>
#include <stdexcept>

#include "check_sample.hpp"
#include "files.hpp"

namespace {

struct Counts {
    std::size_t files = 0;
    std::size_t compared = 0;
    std::size_t failed = 0;
};

void replay(const std::string& path, bool ordinary, Counts& counts) {
    const auto file = overnight::read_file(path);
    ++counts.files;
    try {
        overnight::check_sample(file);
        if (ordinary && overnight::check_planes(file)) ++counts.compared;
    } catch (const std::logic_error& error) {
        ++counts.failed;
        std::fprintf(stderr, "replay: %s: %s\n", path.c_str(), error.what());
    }
}

}  // namespace

int main(int count, char** arguments) {
    Counts counts;
    for (int i = 1; i < count; ++i) {
        for (const std::string& path : overnight::files_named(arguments[i])) replay(path, i == 1, counts);
    }
    std::printf("replay: %zu files, of %zu the planes are libjpeg's at every scale, %zu failed\n", counts.files,
                counts.compared, counts.failed);
    return counts.files == 0 || counts.failed > 0 ? 1 : 0;
}
