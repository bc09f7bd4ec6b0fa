// Samples of pictures that Python has decoded.
#pragma once

#include <nanobind/nanobind.h>

namespace overnight {

void add_pixels(nanobind::module_& module);

}  // namespace overnight
