// Work while other Python threads run.
#pragma once

#include <Python.h>
#include <unistd.h>

namespace overnight {

// Takes the GIL back. While Python ends it gives no thread but the main one the GIL: up to 3.13 it unwinds them from
// inside, which must not pass through functions that may not throw. Such a thread stays here; the process is ending.
inline void take_gil(PyThreadState* state) {
    try {
        PyEval_RestoreThread(state);
    } catch (...) {
        for (;;) ::pause();
    }
}

// Calls `act` without the GIL.
template <class Act>
void without_gil(Act act) {
    PyThreadState* state = PyEval_SaveThread();
    try {
        act();
    } catch (...) {
        take_gil(state);
        throw;
    }
    take_gil(state);
}

}  // namespace overnight
