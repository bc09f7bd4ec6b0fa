#include "transcode.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include <jerror.h>

#include "jpeg_decoder.hpp"
#include "jpeg_errors.hpp"
#include "jpeg_planes.hpp"
#include "planar.hpp"

namespace overnight {
namespace {

constexpr int icc_marker = JPEG_APP0 + 2;
constexpr char icc_name[] = "ICC_PROFILE";  // with its closing zero (ICC.1, annex B.4)

bool is_profile(const jpeg_marker_struct& marker) {
    return marker.marker == icc_marker && marker.data_length >= sizeof icc_name &&
           std::memcmp(marker.data, icc_name, sizeof icc_name) == 0;
}

// A file's coefficients in memory. What libjpeg may jump out of is in the steps, which hold no destructors.
class Coefficients {
public:
    Coefficients() {
        picture.err = errors_.manager();
        jpeg_create_decompress(&picture);
        picture.progress = errors_.scan_limit();
    }
    ~Coefficients() { jpeg_destroy_decompress(&picture); }
    Coefficients(const Coefficients&) = delete;
    Coefficients& operator=(const Coefficients&) = delete;

    Status read(std::span<const std::uint8_t> file) {
        if (file.empty()) return Status::empty;
        if (static_cast<std::int64_t>(file.size()) > max_file_bytes) return Status::too_large;
        if (!step_header(file.data(), file.size())) return errors_.outcome();
        if (std::int64_t{picture.image_width} * picture.image_height > max_pixels) return Status::too_large;
        if (picture.arith_code || picture.data_precision != 8) return Status::unsupported;
        if (picture.num_components == 2 || picture.num_components > 4) return Status::unsupported;
        step_coefficients();
        return errors_.outcome();
    }

    // A row of a component's blocks; null when libjpeg cannot give it.
    JBLOCKROW row(int component, JDIMENSION number) noexcept {
        if (setjmp(errors_.escape)) return nullptr;
        auto* common = reinterpret_cast<j_common_ptr>(&picture);
        return *(*picture.mem->access_virt_barray)(common, arrays[component], number, 1, FALSE);
    }

    jpeg_decompress_struct picture{};
    jvirt_barray_ptr* arrays = nullptr;

private:
    bool step_header(const std::uint8_t* data, std::size_t size) noexcept {
        if (setjmp(errors_.escape)) return false;
        picture.mem->max_memory_to_use = memory_for(size);
        jpeg_mem_src(&picture, data, static_cast<unsigned long>(size));
        jpeg_save_markers(&picture, icc_marker, 0xFFFF);
        return jpeg_read_header(&picture, TRUE) == JPEG_HEADER_OK;
    }

    bool step_coefficients() noexcept {
        if (setjmp(errors_.escape)) return false;
        arrays = jpeg_read_coefficients(&picture);
        return true;
    }

    JpegErrors errors_;
};

// Where the new file grows. Not libjpeg's own: its buffer would be lost when an error jumps out of it.
struct Destination {
    jpeg_destination_mgr base{};
    std::uint8_t* data = nullptr;
    std::size_t capacity = 0;

    ~Destination() { std::free(data); }

    std::size_t size() const { return capacity - base.free_in_buffer; }
};

void grow(j_compress_ptr picture, std::size_t capacity) {
    auto& out = *reinterpret_cast<Destination*>(picture->dest);
    const std::size_t used = out.capacity;
    auto* data = static_cast<std::uint8_t*>(std::realloc(out.data, capacity));
    if (data == nullptr) ERREXIT1(picture, JERR_OUT_OF_MEMORY, 0);
    out.data = data;
    out.capacity = capacity;
    out.base.next_output_byte = data + used;
    out.base.free_in_buffer = capacity - used;
}

void begin(j_compress_ptr picture) { grow(picture, std::size_t{1} << 16); }

// libjpeg calls it when the buffer is full, whatever `free_in_buffer` says.
boolean enlarge(j_compress_ptr picture) {
    grow(picture, 2 * reinterpret_cast<Destination*>(picture->dest)->capacity);
    return TRUE;
}

void end(j_compress_ptr) {}

bool equal(const JHUFF_TBL* a, const JHUFF_TBL* b) {
    if (a == nullptr || b == nullptr || std::memcmp(a->bits + 1, b->bits + 1, 16) != 0) return false;
    std::size_t codes = 0;
    for (int length = 1; length <= 16; ++length) codes += a->bits[length];
    return std::memcmp(a->huffval, b->huffval, std::min(codes, sizeof a->huffval)) == 0;
}

// Whether every component uses tables that `standard` (fresh from jpeg_set_defaults) has, luma's or chroma's.
bool has_standard_tables(const jpeg_decompress_struct& picture, const jpeg_compress_struct& standard) {
    for (int k = 0; k < picture.num_components; ++k) {
        const jpeg_component_info& info = picture.comp_info[k];
        // A component in no scan has numbers that libjpeg left unset; one in progressive scans may have any for the
        // kind of table that none of them used.
        if (info.quant_table == nullptr || info.dc_tbl_no >= NUM_HUFF_TBLS || info.ac_tbl_no >= NUM_HUFF_TBLS) {
            return false;
        }
        const JHUFF_TBL* dc = picture.dc_huff_tbl_ptrs[info.dc_tbl_no];
        const JHUFF_TBL* ac = picture.ac_huff_tbl_ptrs[info.ac_tbl_no];
        if (!equal(dc, standard.dc_huff_tbl_ptrs[0]) && !equal(dc, standard.dc_huff_tbl_ptrs[1])) return false;
        if (!equal(ac, standard.ac_huff_tbl_ptrs[0]) && !equal(ac, standard.ac_huff_tbl_ptrs[1])) return false;
    }
    return true;
}

// What keeps a sound picture from being coded in one scan: too many blocks in a unit, or a quantization table that
// changed between scans.
bool fits_no_scan(int code) { return code == JERR_BAD_MCU_SIZE || code == JERR_MISMATCHED_QUANT_TABLE; }

class Writer {
public:
    Writer() {
        picture_.err = errors_.manager();
        jpeg_create_compress(&picture_);
        out_.base.init_destination = begin;
        out_.base.empty_output_buffer = enlarge;
        out_.base.term_destination = end;
        picture_.dest = &out_.base;
    }
    ~Writer() { jpeg_destroy_compress(&picture_); }
    Writer(const Writer&) = delete;
    Writer& operator=(const Writer&) = delete;

    Status write(const Coefficients& source, int rows_per_restart) noexcept {
        if (step_write(source.picture, source.arrays, rows_per_restart)) return Status::ok;
        return fits_no_scan(errors_.base.msg_code) ? Status::unsupported : errors_.outcome();
    }

    std::span<const std::uint8_t> file() const { return {out_.data, out_.size()}; }

private:
    bool step_write(const jpeg_decompress_struct& source, jvirt_barray_ptr* arrays, int rows_per_restart) noexcept {
        if (setjmp(errors_.escape)) return false;
        jpeg_copy_critical_parameters(const_cast<j_decompress_ptr>(&source), &picture_);
        picture_.optimize_coding = has_standard_tables(source, picture_) ? FALSE : TRUE;
        picture_.restart_in_rows = rows_per_restart;
        picture_.write_JFIF_header = source.saw_JFIF_marker;
        picture_.write_Adobe_marker = source.saw_Adobe_marker;
        jpeg_write_coefficients(&picture_, arrays);
        for (const auto* marker = source.marker_list; marker != nullptr; marker = marker->next) {
            if (is_profile(*marker)) jpeg_write_marker(&picture_, icc_marker, marker->data, marker->data_length);
        }
        jpeg_finish_compress(&picture_);
        return true;
    }

    jpeg_compress_struct picture_{};
    JpegErrors errors_;
    Destination out_;
};

void append(std::vector<std::uint8_t>& out, std::span<const std::uint8_t> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
}

// libjpeg writes each table as a segment of its own. All quantization tables in one segment, and all Huffman tables in
// another, take 16 bytes less: a quarter of what markers add to a small photograph. `file` is libjpeg's, so sound.
void join_tables(std::span<const std::uint8_t> file, std::vector<std::uint8_t>& out) {
    constexpr int huffman = 0xC4;
    constexpr int quantization = 0xDB;
    constexpr int scan = 0xDA;
    out.reserve(file.size());
    append(out, file.first(2));
    std::size_t at = 2;
    std::size_t begun = 0;  // of the segment in `out` that came last
    for (int marker = 0, before = 0; before != scan; before = marker) {
        marker = file[at + 1];
        const std::size_t length = 2 + static_cast<std::size_t>(file[at + 2] << 8 | file[at + 3]);
        if (marker == before && (marker == huffman || marker == quantization)) {
            append(out, file.subspan(at + 4, length - 4));
            const std::size_t joined = out.size() - begun - 2;
            out[begun + 2] = static_cast<std::uint8_t>(joined >> 8);
            out[begun + 3] = static_cast<std::uint8_t>(joined);
        } else {
            begun = out.size();
            append(out, file.subspan(at, length));
        }
        at += length;
    }
    append(out, file.subspan(at));
}

bool same_shape(const jpeg_component_info& a, const jpeg_component_info& b) {
    return a.h_samp_factor == b.h_samp_factor && a.v_samp_factor == b.v_samp_factor &&
           a.width_in_blocks == b.width_in_blocks && a.height_in_blocks == b.height_in_blocks &&
           a.quant_table != nullptr && b.quant_table != nullptr &&
           std::memcmp(a.quant_table->quantval, b.quant_table->quantval, sizeof a.quant_table->quantval) == 0;
}

// Blocks beyond the picture's edge, which fill its last units, are nobody's picture.
bool same_picture(Coefficients& a, Coefficients& b) {
    if (a.picture.image_width != b.picture.image_width || a.picture.image_height != b.picture.image_height ||
        a.picture.num_components != b.picture.num_components ||
        a.picture.jpeg_color_space != b.picture.jpeg_color_space) {
        return false;
    }
    for (int k = 0; k < a.picture.num_components; ++k) {
        const jpeg_component_info& info = a.picture.comp_info[k];
        if (!same_shape(info, b.picture.comp_info[k])) return false;
        for (JDIMENSION y = 0; y < info.height_in_blocks; ++y) {
            const JBLOCKROW left = a.row(k, y);
            const JBLOCKROW right = b.row(k, y);
            if (left == nullptr || right == nullptr) return false;
            if (std::memcmp(left, right, info.width_in_blocks * sizeof(JBLOCK)) != 0) return false;
        }
    }
    return true;
}

bool same_plane(const PlanarMaker::Planes& own, std::size_t component, const LibjpegPlane& plane) {
    const auto width = static_cast<std::size_t>(plane.width);
    const std::size_t stride = own.stride[component];
    const std::vector<std::uint8_t>& samples = own.samples[component];
    if (plane.side != own.side || width > stride) return false;
    if (static_cast<std::size_t>(plane.height) * stride > samples.size()) return false;
    for (std::size_t y = 0; y < static_cast<std::size_t>(plane.height); ++y) {
        if (std::memcmp(samples.data() + y * stride, plane.samples.data() + y * width, width) != 0) return false;
    }
    return true;
}

Status compare_planes(std::span<const std::uint8_t> file) {
    PlanarMaker maker(kernels());
    PlanarMaker::Planes own;
    const std::optional<Status> read = maker.planes(file, 8, own);
    if (!read) return Status::ok;
    std::vector<LibjpegPlane> reference;
    const Status said = libjpeg_planes(file, 8, reference);
    if ((*read == Status::ok) != (said == Status::ok)) return Status::decoders_disagree;
    if (said != Status::ok) return *read;
    if (reference.size() != static_cast<std::size_t>(own.frame.components)) return Status::decoders_disagree;
    for (std::size_t k = 0; k < reference.size(); ++k) {
        if (!same_plane(own, k, reference[k])) return Status::decoders_disagree;
    }
    return Status::ok;
}

}  // namespace

#define OVERNIGHT_TEXT_OF(token) #token
#define OVERNIGHT_TEXT(macro) OVERNIGHT_TEXT_OF(macro)

const char* libjpeg_version() noexcept { return OVERNIGHT_TEXT(LIBJPEG_TURBO_VERSION); }

Status rewrite(std::span<const std::uint8_t> file, int rows_per_restart, std::vector<std::uint8_t>& out) {
    try {
        Coefficients source;
        if (const Status status = source.read(file); status != Status::ok) return status;
        Writer writer;
        if (const Status status = writer.write(source, rows_per_restart); status != Status::ok) return status;
        out.clear();
        join_tables(writer.file(), out);
        Coefficients again;
        if (again.read(out) != Status::ok || !same_picture(source, again)) return Status::decoders_disagree;
        return Status::ok;
    } catch (const std::bad_alloc&) {
        return Status::out_of_memory;
    }
}

Status decoders_agree(std::span<const std::uint8_t> file) {
    try {
        JpegDecoder decoder;
        Header header;
        const Status status = decoder.read_header(file, header);
        return status == Status::ok ? compare_planes(file) : status;
    } catch (const std::bad_alloc&) {
        return Status::out_of_memory;
    }
}

}  // namespace overnight
