#include "planar.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace overnight {
namespace {

// How many times the target a component's box stays at least where the DCT makes it smaller. What the box filter of the
// DCT loses shows most where the triangle after it has little left to do: just above 1. For small targets, of which
// there is little to save, the triangle is left more.
constexpr int small_target = 128;

double oversampling(int size) { return size < small_target ? 2.0 : 1.25; }

// Samples behind a plane that vector loads may touch.
constexpr std::size_t beyond = 64;

int divided_up(std::int64_t value, std::int64_t by) { return static_cast<int>((value + by - 1) / by); }

std::size_t padded(std::size_t length, std::size_t to) { return (length + to - 1) / to * to; }

// Samples of a component along an axis, of a picture `length` long, at side / 8.
int samples_along(int length, int factor, int most, int side) {
    return divided_up(std::int64_t{length} * factor * side, std::int64_t{most} * 8);
}

int side_for(double shorter, int size) {
    for (const int side : {1, 2, 4}) {
        if (shorter * side / 8 >= oversampling(size) * size) return side;
    }
    return 8;
}

// Of the triangle that turns a plane into the target, in samples of the plane. Half-size chroma would first be
// interpolated to full size and then antialiased; one triangle as wide as both together has the same variance.
double support_of(double scale, bool subsampled, int side) {
    if (subsampled && side == 8) return std::sqrt(1 + scale * scale);
    return std::max(scale, 1.0);
}

}  // namespace

void PlanarMaker::aim(Aim& aim, const Component& shape, const Cut& cut, int size) const {
    const Box& box = cut.box;
    const double part_across = static_cast<double>(shape.across) / frame_.max_across;
    const double part_down = static_cast<double>(shape.down) / frame_.max_down;
    aim.side = side_for(std::min((box.right - box.left) * part_across, (box.bottom - box.top) * part_down), size);
    const double across = part_across * aim.side / 8;
    const double down = part_down * aim.side / 8;
    const double scale_across = (box.right - box.left) * across / size;
    const double scale_down = (box.bottom - box.top) * down / size;
    aim.across.prepare(box.left * across, box.right * across,
                       samples_along(frame_.width, shape.across, frame_.max_across, aim.side), size, cut.flip,
                       support_of(scale_across, shape.across < frame_.max_across, aim.side));
    aim.down.prepare(box.top * down, box.bottom * down,
                     samples_along(frame_.height, shape.down, frame_.max_down, aim.side), size, false,
                     support_of(scale_down, shape.down < frame_.max_down, aim.side));
}

void PlanarMaker::aim_planes(const Cut& cut, int size) {
    for (int k = 0; k < frame_.components; ++k) {
        const Component& shape = frame_.component[k];
        const bool as_before =
            k > 0 && shape.across == frame_.component[k - 1].across && shape.down == frame_.component[k - 1].down;
        plane_[k].aim = as_before ? plane_[k - 1].aim : k;
        if (!as_before) aim(aim_[k], shape, cut, size);
    }
}

// The units that hold every sample that any output needs.
void PlanarMaker::cover(ScanJob& scan) const {
    scan.left = scan.units_across;
    scan.top = frame_.units_down();
    for (int k = 0; k < frame_.components; ++k) {
        const Aim& aim = aim_of(k);
        const int wide = frame_.component[k].across * aim.side;
        const int high = frame_.component[k].down * aim.side;
        scan.left = std::min(scan.left, aim.across.low() / wide);
        scan.right = std::max(scan.right, divided_up(aim.across.high(), wide));
        scan.top = std::min(scan.top, aim.down.low() / high);
        scan.bottom = std::max(scan.bottom, divided_up(aim.down.high(), high));
    }
}

DataEnd PlanarMaker::unstuff(std::span<const std::uint8_t> file, Unstuffed& input) {
    const std::size_t size = file.size() - frame_.data;
    const std::int64_t units = std::int64_t{frame_.units_across()} * frame_.units_down();
    const int interval = frame_.restart_interval;
    input.segments_expected = interval > 0 ? static_cast<std::size_t>(divided_up(units, interval)) : 1;
    input.segments = segments_.at_least(input.segments_expected);
    input.data = data_.at_least(size + data_padding + beyond);
    kernels_.unstuff(file.data() + frame_.data, size, input);
    return input.end;
}

// The planes' aims and the scan's window are set.
std::optional<Status> PlanarMaker::prepare(std::span<const std::uint8_t> file, ScanJob& scan) {
    switch (unstuff(file, scan.input)) {
        case DataEnd::end_marker: break;
        case DataEnd::nothing: return Status::truncated;
        case DataEnd::other_marker:
        case DataEnd::odd_restarts: return std::nullopt;
    }
    scan.components = frame_.components;
    scan.restart_interval = frame_.restart_interval;
    const bool skips = scan.left > 0 || scan.top > 0 || scan.right < scan.units_across;
    for (int k = 0; k < frame_.components; ++k) {
        const Component& shape = frame_.component[k];
        Plane& plane = plane_[k];
        const int side = aim_of(k).side;
        HuffmanTable& ac = tables_->ac[shape.ac];
        if (skips && (k == 0 || shape.ac != frame_.component[k - 1].ac)) ac.prepare_skip();
        const auto wide = static_cast<std::size_t>((scan.right - scan.left) * shape.across * side);
        const auto high = static_cast<std::size_t>((scan.bottom - scan.top) * shape.down * side);
        const std::size_t stride = padded(wide, 64);
        scan.plane[k] = {.across = shape.across,
                         .down = shape.down,
                         .side = side,
                         .quantization = tables_->quantization[shape.quantization],
                         .dc = &tables_->dc[shape.dc],
                         .ac = &ac,
                         .out = plane.samples.at_least(stride * high + beyond),
                         .stride = stride};
    }
    return Status::ok;
}

std::optional<Status> PlanarMaker::decode(std::span<const std::uint8_t> file, ScanJob& scan) {
    const std::optional<Status> status = prepare(file, scan);
    if (status != Status::ok) return status;
    return kernels_.decode_scan(scan) ? Status::ok : Status::corrupt;
}

ResampleJob PlanarMaker::resample_job(int component, const ScanJob& scan, int size) const {
    const Component& shape = frame_.component[component];
    const Aim& aim = aim_of(component);
    const PlaneJob& decoded = scan.plane[component];
    const int left = aim.across.low() - scan.left * shape.across * aim.side;
    const int top = aim.down.low() - scan.top * shape.down * aim.side;
    return {.origin = decoded.out + static_cast<std::size_t>(top) * decoded.stride + left,
            .stride = decoded.stride,
            .width = aim.across.high() - aim.across.low(),
            .size = size,
            .across_first = aim.across.firsts(),
            .across_count = aim.across.count(),
            .across_weights = aim.across.weights(0),
            .across_low = aim.across.low(),
            .down_first = aim.down.firsts(),
            .down_count = aim.down.count(),
            .down_weights = aim.down.weights(0),
            .down_low = aim.down.low()};
}

bool PlanarMaker::make_prepared(const ScanJob& scan, const Output& output, void* out) {
    ResampleJob jobs[3];
    int widest = 0;
    for (int k = 0; k < frame_.components; ++k) {
        jobs[k] = resample_job(k, scan, output.size);
        widest = std::max(widest, jobs[k].width);
    }
    const std::size_t row = padded(static_cast<std::size_t>(widest), 32);
    const std::size_t line = padded(static_cast<std::size_t>(output.size), resample_tile_rows);
    const ResampleScratch scratch{.row_stride = row,
                                  .rows = rows_.at_least(row * resample_tile_rows),
                                  .columns = columns_.at_least(3 * row * resample_tile_rows),
                                  .line_stride = line,
                                  .lines = lines_.at_least(3 * line * resample_tile_rows)};
    FinishJob finish{.size = output.size,
                     .colour = frame_.components == 3,
                     .interleaved = output.layout == Layout::nhwc,
                     .number = output.number,
                     .out = out};
    std::copy_n(output.scale, 3, finish.scale);
    std::copy_n(output.shift, 3, finish.shift);
    return kernels_.make_sample(scan, jobs, finish, scratch);
}

std::optional<Status> PlanarMaker::make(std::span<const std::uint8_t> file, const Cut& cut, const Output& output,
                                        void* out) {
    if (output.size > resample_line_limit || !read_frame(file, frame_, *tables_)) return std::nullopt;
    if (std::int64_t{frame_.width} * frame_.height > max_pixels) return Status::too_large;
    if (!fits(cut, frame_.width, frame_.height)) return Status::wrong_size;
    ScanJob scan;
    scan.units_across = frame_.units_across();
    aim_planes(cut, output.size);
    cover(scan);
    const std::optional<Status> status = prepare(file, scan);
    if (status != Status::ok) return status;
    return make_prepared(scan, output, out) ? Status::ok : Status::corrupt;
}

std::optional<Status> PlanarMaker::planes(std::span<const std::uint8_t> file, int side, Planes& result) {
    if (!read_frame(file, frame_, *tables_)) return std::nullopt;
    if (std::int64_t{frame_.width} * frame_.height > max_pixels) return Status::too_large;
    ScanJob scan;
    scan.units_across = scan.right = frame_.units_across();
    scan.bottom = frame_.units_down();
    for (int k = 0; k < 3; ++k) plane_[k].aim = 0;
    aim_[0].side = side;
    const std::optional<Status> status = decode(file, scan);
    if (status != Status::ok) return status;
    result.frame = frame_;
    result.side = side;
    for (int k = 0; k < frame_.components; ++k) {
        const PlaneJob& plane = scan.plane[k];
        const auto high = static_cast<std::size_t>(scan.bottom * plane.down * plane.side);
        result.stride[k] = plane.stride;
        result.samples[k].assign(plane.out, plane.out + plane.stride * high);
    }
    return status;
}

std::optional<Status> PlanarMaker::window(std::span<const std::uint8_t> file, const Cut& cut, int size,
                                          Window& result) {
    if (!read_frame(file, frame_, *tables_)) return std::nullopt;
    if (!fits(cut, frame_.width, frame_.height)) return Status::wrong_size;
    ScanJob scan;
    scan.units_across = frame_.units_across();
    aim_planes(cut, size);
    cover(scan);
    result = {.left = scan.left, .top = scan.top, .right = scan.right, .bottom = scan.bottom};
    for (int k = 0; k < frame_.components; ++k) result.side[k] = aim_of(k).side;
    return Status::ok;
}

std::optional<Status> PlanarMaker::decode_window(std::span<const std::uint8_t> file, const Window& window,
                                                 bool samples) {
    if (!read_frame(file, frame_, *tables_)) return std::nullopt;
    ScanJob scan;
    scan.units_across = frame_.units_across();
    scan.left = window.left;
    scan.top = window.top;
    scan.right = window.right;
    scan.bottom = window.bottom;
    for (int k = 0; k < frame_.components; ++k) {
        plane_[k].aim = k;
        aim_[k].side = samples ? window.side[k] : 0;
    }
    return decode(file, scan);
}

}  // namespace overnight
