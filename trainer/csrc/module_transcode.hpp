// Adds rewrite, decoders_agree and LIBJPEG_VERSION to the Python module.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

namespace overnight {

void add_transcode(nanobind::module_& module);

}  // namespace overnight
