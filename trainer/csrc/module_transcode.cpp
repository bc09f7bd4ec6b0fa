// The Python side of transcode.hpp.
#include "module_transcode.hpp"

#include <algorithm>
#include <stdexcept>

#include "transcode.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace overnight {
namespace {

constexpr int most_rows = 65535;

std::span<const std::uint8_t> view(const nb::bytes& file) {
    return {static_cast<const std::uint8_t*>(file.data()), file.size()};
}

nb::tuple rewritten(const nb::bytes& file, int rows_per_restart) {
    if (rows_per_restart < 0 || rows_per_restart > most_rows) {
        throw std::invalid_argument("rows_per_restart must be from 0 to 65535");
    }
    std::vector<std::uint8_t> out;
    Status status = Status::ok;
    {
        const std::span<const std::uint8_t> bytes = view(file);
        const nb::gil_scoped_release release;
        status = rewrite(bytes, rows_per_restart, out);
    }
    if (status != Status::ok) return nb::make_tuple(nb::none(), status_name(status));
    return nb::make_tuple(nb::bytes(out.data(), out.size()), status_name(status));
}

std::string agreed(const nb::bytes& file) {
    const std::span<const std::uint8_t> bytes = view(file);
    const nb::gil_scoped_release release;
    return status_name(decoders_agree(bytes));
}

}  // namespace

void add_transcode(nb::module_& module) {
    module.attr("LIBJPEG_VERSION") = libjpeg_version();
    module.def("rewrite", &rewritten, "file"_a, "rows_per_restart"_a);
    module.def("decoders_agree", &agreed, "file"_a);
}

}  // namespace overnight
