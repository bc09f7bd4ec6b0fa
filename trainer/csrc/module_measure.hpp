// Adds `measure` to the Python module.
#pragma once

#include <nanobind/nanobind.h>

namespace overnight {

void add_measure(nanobind::module_& module);

}  // namespace overnight
