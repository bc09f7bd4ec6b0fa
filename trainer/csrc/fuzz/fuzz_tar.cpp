// libFuzzer's door to the reader of tar files: whatever the bytes, an index that stays inside the file, or a sentence.
#include <sys/mman.h>
#include <unistd.h>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "tar_index.hpp"

namespace {

void require(bool holds) {
    if (!holds) std::abort();
}

void check(const overnight::TarIndex& index, std::int64_t size) {
    require(index.offsets.size() == index.sizes.size() && index.offsets.size() == index.name_ends.size());
    std::int64_t before = 0;
    for (std::size_t i = 0; i < index.offsets.size(); ++i) {
        require(index.name_ends[i] >= before);
        before = index.name_ends[i];
        require(index.offsets[i] >= 512 && index.sizes[i] >= 0 && index.offsets[i] <= size - index.sizes[i]);
    }
    require(before == static_cast<std::int64_t>(index.names.size()));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    static const int file = ::memfd_create("tar", 0);
    static const std::string path = "/proc/self/fd/" + std::to_string(file);
    require(::ftruncate(file, 0) == 0 && ::pwrite(file, data, size, 0) == static_cast<ssize_t>(size));
    try {
        check(overnight::scan_tar(path), static_cast<std::int64_t>(size));
    } catch (const std::runtime_error&) {
        // Not a tar file: said in a sentence.
    }
    return 0;
}
