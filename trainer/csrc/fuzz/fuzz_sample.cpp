// libFuzzer's door to check_sample.
#include <cstddef>

#include "check_sample.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    overnight::check_sample({data, size});
    return 0;
}
