// The Python side: checks every argument, keeps arrays alive while threads write into them, lets the GIL go.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <chrono>

#include "batch.hpp"
#include "jpeg_decoder.hpp"
#include "jpeg_planes.hpp"
#include "module_arguments.hpp"
#include "module_measure.hpp"
#include "module_pixels.hpp"
#include "module_transcode.hpp"
#include "planar.hpp"
#include "tar_index.hpp"
#include "without_gil.hpp"

namespace nb = nanobind;
using namespace nb::literals;

namespace overnight {
namespace {

struct Reader {
    std::shared_ptr<ShardReader> files;
};

// A job under way. Holds what the threads write into; going out of scope waits for them.
class Ticket {
public:
    Ticket(std::shared_ptr<ThreadPool> pool, std::shared_ptr<Job> job, std::vector<nb::object> kept)
        : pool_(std::move(pool)), job_(std::move(job)), kept_(std::move(kept)) {
        pool_->submit(job_);
    }
    ~Ticket() {
        try {
            if (!done_) finish();
        } catch (const ForkError&) {
            // In a child process there are no threads to wait for.
        }
    }
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;

    bool done() { return done_ || (done_ = pool_->wait_for(*job_, std::chrono::milliseconds(0))); }

    // Python's signal handlers run while it waits: SIGTERM must not hang behind a slow disk.
    void wait() {
        while (!done_) {
            without_gil([&] { done_ = pool_->wait_for(*job_, std::chrono::milliseconds(50)); });
            if (!done_ && PyErr_CheckSignals() != 0) throw nb::python_error();
        }
        kept_.clear();
    }

private:
    void finish() {
        without_gil([&] {
            while (!pool_->wait_for(*job_, std::chrono::milliseconds(1000))) {
            }
        });
        done_ = true;
    }

    std::shared_ptr<ThreadPool> pool_;
    std::shared_ptr<Job> job_;
    std::vector<nb::object> kept_;
    bool done_ = false;
};

struct Pool {
    std::shared_ptr<ThreadPool> threads;
};

Places places_of(const Reader& reader, const Array<const std::int32_t, 1>& file,
                 const Array<const std::int64_t, 1>& offset, const Array<const std::int64_t, 1>& size) {
    const std::size_t count = file.shape(0);
    require(offset.shape(0) == count && size.shape(0) == count, "file, offset and size must have one length");
    for (std::size_t i = 0; i < count; ++i) {
        require(file.data()[i] >= 0 && static_cast<std::size_t>(file.data()[i]) < reader.files->files(),
                "a file number is outside the reader's files");
        require(offset.data()[i] >= 0 && size.data()[i] >= 0, "an offset or size is negative");
    }
    return {reader.files, count, file.data(), offset.data(), size.data()};
}

std::unique_ptr<Ticket> submit(Pool& pool, const Reader& reader, const Array<const std::int32_t, 1>& file,
                               const Array<const std::int64_t, 1>& offset, const Array<const std::int64_t, 1>& size,
                               const Array<const std::int32_t, 2>& dimensions, const Array<const double, 2>& boxes,
                               const Array<const std::uint8_t, 1>& flips, nb::object out,
                               const Array<std::uint8_t, 1>& statuses, bool exact, bool planar, bool channels_last,
                               std::array<float, 3> mean, std::array<float, 3> std) {
    Batch batch;
    batch.places = places_of(reader, file, offset, size);
    const std::size_t count = batch.places.count;
    require(dimensions.shape(0) == count && dimensions.shape(1) == 2, "dimensions must be [n, 2]");
    require(flips.shape(0) == count && statuses.shape(0) == count, "flips and statuses must be [n]");
    check_boxes(boxes, count);
    batch.dimensions = dimensions.data();
    batch.boxes = boxes.data();
    batch.flips = flips.data();
    batch.precision = exact ? Precision::exact : planar ? Precision::fast : Precision::fast_rgb;
    batch.output = output_of(out, count, channels_last, mean, std);
    batch.out = nb::cast<nb::ndarray<>>(out).data();
    batch.statuses = statuses.data();
    std::vector<nb::object> kept{nb::cast(file),
                                 nb::cast(offset),
                                 nb::cast(size),
                                 nb::cast(dimensions),
                                 nb::cast(boxes),
                                 nb::cast(flips),
                                 out,
                                 nb::cast(statuses)};
    return std::make_unique<Ticket>(pool.threads, batch_job(batch), std::move(kept));
}

std::unique_ptr<Ticket> read_headers(Pool& pool, const Reader& reader, const Array<const std::int32_t, 1>& file,
                                     const Array<const std::int64_t, 1>& offset,
                                     const Array<const std::int64_t, 1>& size, const Array<std::int32_t, 2>& dimensions,
                                     const Array<std::uint8_t, 1>& statuses) {
    const Places places = places_of(reader, file, offset, size);
    require(dimensions.shape(0) == places.count && dimensions.shape(1) == 2, "dimensions must be [n, 2]");
    require(statuses.shape(0) == places.count, "statuses must be [n]");
    std::vector<nb::object> kept{nb::cast(file), nb::cast(offset), nb::cast(size), nb::cast(dimensions),
                                 nb::cast(statuses)};
    return std::make_unique<Ticket>(pool.threads, header_job(places, dimensions.data(), statuses.data()),
                                    std::move(kept));
}

template <class T>
nb::object numpy(const T* data, std::vector<std::size_t> shape) {
    std::size_t count = 1;
    for (std::size_t length : shape) count *= length;
    auto* copy = new T[count];
    std::copy_n(data, count, copy);
    nb::capsule owner(copy, [](void* memory) noexcept { delete[] static_cast<T*>(memory); });
    return nb::cast(nb::ndarray<nb::numpy, T>(copy, shape.size(), shape.data(), owner));
}

// The bytes of one picture; None and the reason where they cannot be had.
nb::tuple read_bytes(const Reader& reader, std::size_t file, std::int64_t offset, std::int64_t size) {
    require(file < reader.files->files(), "a file number is outside the reader's files");
    require(offset >= 0 && size >= 0, "an offset or size is negative");
    std::vector<std::uint8_t> bytes;
    Status status = Status::ok;
    without_gil([&] { status = reader.files->read(file, offset, size, bytes); });
    if (status != Status::ok) return nb::make_tuple(nb::none(), status_name(status));
    return nb::make_tuple(nb::bytes(bytes.data(), bytes.size()), status_name(status));
}

// One region of one picture, uint8 [rows, columns, 3 or 1]; None and the reason when it is bad. For tests and tools.
nb::tuple decode_region(const Bytes& file, int eighths, std::array<int, 4> region) {
    require(eighths == 1 || eighths == 2 || eighths == 4 || eighths == 8, "eighths must be 1, 2, 4 or 8");
    JpegDecoder decoder;
    Header header;
    Pixels pixels;
    Status status = decoder.read_header({file.data(), file.shape(0)}, header);
    if (status == Status::ok) status = decoder.decode(eighths, {region[0], region[1], region[2], region[3]}, pixels);
    if (status != Status::ok) return nb::make_tuple(nb::none(), status_name(status));
    const auto rows = static_cast<std::size_t>(region[3] - region[1]);
    const auto row = static_cast<std::size_t>(region[2] - region[0]) * static_cast<std::size_t>(pixels.channels);
    std::vector<std::uint8_t> packed(rows * row);
    for (std::size_t y = 0; y < rows; ++y) std::copy_n(pixels.origin + y * pixels.stride, row, packed.data() + y * row);
    const auto channels = static_cast<std::size_t>(pixels.channels);
    return nb::make_tuple(numpy(packed.data(), {rows, row / channels, channels}), status_name(status));
}

// A picture's planes by the own decoder with one instruction set's kernels; None: it is none of its files.
nb::object own_planes(const Bytes& file, int side, const std::string& instructions) {
    require(side == 1 || side == 2 || side == 4 || side == 8, "side must be 1, 2, 4 or 8");
    const Kernels* chosen = kernels_named(instructions.c_str());
    require(chosen != nullptr, "this machine or build has no kernels of that name");
    PlanarMaker maker(*chosen);
    PlanarMaker::Planes planes;
    const std::optional<Status> status = maker.planes({file.data(), file.shape(0)}, side, planes);
    if (!status) return nb::none();
    nb::list made;
    for (std::size_t k = 0; *status == Status::ok && k < static_cast<std::size_t>(planes.frame.components); ++k) {
        made.append(numpy(planes.samples[k].data(), {planes.samples[k].size() / planes.stride[k], planes.stride[k]}));
    }
    return nb::make_tuple(made, status_name(*status));
}

// The same by libjpeg: (side, samples) of each component.
nb::tuple reference_planes(const Bytes& file, int eighths) {
    std::vector<LibjpegPlane> planes;
    const Status status = libjpeg_planes({file.data(), file.shape(0)}, eighths, planes);
    nb::list made;
    for (const LibjpegPlane& plane : planes) {
        if (status != Status::ok) break;
        made.append(nb::make_tuple(plane.side, numpy(plane.samples.data(), {static_cast<std::size_t>(plane.height),
                                                                            static_cast<std::size_t>(plane.width)})));
    }
    return nb::make_tuple(made, status_name(status));
}

std::vector<std::string> instruction_sets() {
    std::vector<std::string> names;
    for (const char* name : {"baseline", "avx2", "neon"}) {
        if (kernels_named(name) != nullptr) names.emplace_back(name);
    }
    return names;
}

nb::tuple scan(const std::string& path) {
    TarIndex index;
    without_gil([&] { index = scan_tar(path); });
    const std::size_t count = index.offsets.size();
    return nb::make_tuple(nb::bytes(index.names.data(), index.names.size()), numpy(index.name_ends.data(), {count}),
                          numpy(index.offsets.data(), {count}), numpy(index.sizes.data(), {count}), index.truncated);
}

std::vector<std::string> status_names() {
    std::vector<std::string> names;
    for (int i = 0; i < static_cast<int>(Status::count); ++i) names.emplace_back(status_name(static_cast<Status>(i)));
    return names;
}

}  // namespace
}  // namespace overnight

NB_MODULE(_native, module) {
    using namespace overnight;
    nb::set_leak_warnings(false);  // a thread that still waits when Python ends keeps its batch
    nb::exception<ForkError>(module, "ForkError", PyExc_RuntimeError);
    module.attr("STATUS_NAMES") = nb::cast(status_names());

    nb::class_<Reader>(module, "Reader")
        .def(
            "__init__",
            [](Reader* self, std::vector<std::string> paths) {
                new (self) Reader{std::make_shared<ShardReader>(std::move(paths))};
            },
            "paths"_a)
        .def(
            "move",
            [](Reader& self, std::size_t file, std::string path) {
                require(file < self.files->files(), "a file number is outside the reader's files");
                self.files->move(file, std::move(path));
            },
            "file"_a, "path"_a)
        .def("read", &read_bytes, "file"_a, "offset"_a, "size"_a);
    nb::class_<Ticket>(module, "Ticket").def("wait", &Ticket::wait).def("done", &Ticket::done);
    nb::class_<Pool>(module, "Pool")
        .def(
            "__init__",
            [](Pool* self, int threads) {
                require(threads >= 1 && threads <= 1024, "threads must be from 1 to 1024");
                new (self) Pool{std::make_shared<ThreadPool>(threads)};
            },
            "threads"_a)
        .def_prop_ro("threads", [](const Pool& self) { return self.threads->threads(); })
        .def("submit", &submit, "reader"_a, "file"_a, "offset"_a, "size"_a, "dimensions"_a, "boxes"_a, "flips"_a,
             "out"_a, "statuses"_a, nb::kw_only(), "exact"_a, "planar"_a, "channels_last"_a, "mean"_a, "std"_a)
        .def("read_headers", &read_headers, "reader"_a, "file"_a, "offset"_a, "size"_a, "dimensions"_a, "statuses"_a)
        .def("close", [](Pool& self) { without_gil([&] { self.threads->close(); }); });
    module.def("decode_region", &decode_region, "file"_a, "eighths"_a, "region"_a);
    module.def("own_planes", &own_planes, "file"_a, "side"_a, "instructions"_a);
    module.def("reference_planes", &reference_planes, "file"_a, "eighths"_a);
    module.attr("INSTRUCTION_SETS") = nb::cast(instruction_sets());
    module.def("scan_tar", &scan, "path"_a);
    add_pixels(module);
    add_transcode(module);
    add_measure(module);
}
