// From coded data to planes: the walk over a scan's units, decoding those inside the window and passing over others.

namespace overnight::OVERNIGHT_ISA {

// Copies up to the next 0xFF; stops there or at the end. Both pointers move along.
[[gnu::always_inline]] inline void copy_to_mark(const std::uint8_t*& from, const std::uint8_t* end, std::uint8_t*& to) {
#if defined(__AVX2__)
    const __m256i mark = _mm256_set1_epi8(-1);
    while (end - from >= 32) {
        const __m256i bytes = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), bytes);  // room: what is written later stands behind
        const auto found = static_cast<unsigned>(_mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, mark)));
        const int plain = found == 0 ? 32 : __builtin_ctz(found);
        from += plain;
        to += plain;
        if (found != 0) return;
    }
#endif
    while (from < end && *from != 0xFF) *to++ = *from++;
}

inline void unstuff(const std::uint8_t* data, std::size_t size, Unstuffed& result) {
    const std::uint8_t* from = data;
    const std::uint8_t* const end = data + size;
    std::uint8_t* to = result.data;
    result.segments[0] = 0;
    result.segments_found = 1;
    result.end = DataEnd::nothing;
    for (;;) {
        copy_to_mark(from, end, to);
        if (end - from < 2) break;
        const std::uint8_t next = from[1];
        if (next == 0) {
            *to++ = 0xFF;
            from += 2;
        } else if (next == 0xFF) {
            ++from;  // padding before a marker
        } else if (next >= 0xD0 && next <= 0xD7) {
            // Restart markers count from 0 to 7 and around.
            const bool expected =
                result.segments_found < result.segments_expected && (next & 7U) == ((result.segments_found - 1) & 7U);
            if (!expected) {
                result.end = DataEnd::odd_restarts;
                break;
            }
            result.segments[result.segments_found++] = static_cast<std::uint32_t>(to - result.data);
            from += 2;
        } else {
            result.end = next == 0xD9 ? DataEnd::end_marker : DataEnd::other_marker;
            break;
        }
    }
    result.size = static_cast<std::size_t>(to - result.data);
    __builtin_memset(to, 0, data_padding);
}

// A block of one value: what either pass of any transform makes of it.
inline void fill_block(int dc, int side, std::uint8_t* out, std::size_t stride) {
    const std::uint8_t sample = to_sample(descale(static_cast<Wrapping>(dc), 3));
    const std::uint64_t row = sample * std::uint64_t{0x0101010101010101};
    for (int y = 0; y < side; ++y) __builtin_memcpy(out + static_cast<std::size_t>(y) * stride, &row, side);
}

// The way through the data of some of a scan's rows.
struct Walk {
    const ScanJob& job;
    ScanState& state;
    int segment = -1;
    std::size_t data_end = 0;  // of the segment's bytes
    int next_restart = 0;      // the unit that the next restart marker stands before
    bool damaged = false;
};

// Of which the reader has taken at least one bit.
inline std::size_t bytes_taken(const Walk& walk) {
    const BitReader& reader = walk.state.reader;
    return static_cast<std::size_t>(reader.at - (reader.count >> 3) - walk.job.input.data);
}

// Whether the reader has taken more bits than there are, or read on into the next segment.
inline bool ran_out(const Walk& walk) { return bytes_taken(walk) > walk.data_end; }

[[gnu::noinline]] inline void enter_segment(Walk& walk, int segment) {
    const Unstuffed& input = walk.job.input;
    const auto number = static_cast<std::size_t>(segment);
    if (number >= input.segments_found || (walk.segment >= 0 && ran_out(walk))) {
        walk.damaged = true;
        return;
    }
    walk.segment = segment;
    walk.data_end = number + 1 < input.segments_found ? input.segments[number + 1] : input.size;
    walk.next_restart = walk.job.restart_interval > 0 ? (segment + 1) * walk.job.restart_interval : 0x7FFFFFFF;
    walk.state.reader = BitReader{.at = input.data + input.segments[segment]};
    for (unsigned& predicted : walk.state.predicted) predicted = 0;
}

[[gnu::always_inline]] inline bool ready_for(Walk& walk, int unit) {
    if (unit == walk.next_restart) enter_segment(walk, walk.segment + 1);
    // Zeros stand behind the data, enough for one unit of whatever is read out of them.
    if (ran_out(walk)) walk.damaged = true;
    return !walk.damaged;
}

// Passes over the units [from, to): by jumping to the last restart marker among them, then block by block.
[[gnu::noinline]] inline void skip_units(Walk& walk, int from, int to) {
    const ScanJob& job = walk.job;
    if (job.restart_interval > 0 && to / job.restart_interval > walk.segment) {
        const int segment = to / job.restart_interval;
        enter_segment(walk, segment);
        from = segment * job.restart_interval;
    }
    for (int unit = from; unit < to && ready_for(walk, unit); ++unit) {
        for (int k = 0; k < job.components; ++k) {
            const PlaneJob& plane = job.plane[k];
            for (int block = plane.across * plane.down; block > 0; --block) skip_block(walk.state, plane, k);
        }
    }
}

// `last`: the zigzag position of the last coefficient that may differ from zero.
[[gnu::always_inline]] inline Transform transform_for(int side, int last) {
    if (side == 8) return last < zigzag_of_four ? Transform::first_four : Transform::eight;
    return side == 4 ? Transform::four : Transform::two;
}

// What becomes of queue.next[which].
[[gnu::always_inline]] inline void finish_block(BlockQueue& queue, int which, const PlaneJob& plane, int last,
                                                std::uint8_t* out) {
    if (last == 0 || plane.side <= 1) {
        const int dc = static_cast<std::int16_t>(queue.next[which][0] * plane.quantization[0]);
        fill_block(dc, plane.side, out, plane.stride);
    } else {
        wait_for_others(queue, which, transform_for(plane.side, last), plane, out);
    }
}

// Calls decode(plane, its number, its first sample) for the blocks of the window's unit (column, row), in their order.
template <class Decode>
[[gnu::always_inline]] inline void each_block(const ScanJob& job, int column, int row, Decode decode) {
    for (int k = 0; k < job.components; ++k) {
        const PlaneJob& plane = job.plane[k];
        for (int y = 0; y < plane.down; ++y) {
            const auto line = static_cast<std::size_t>((row * plane.down + y) * plane.side);
            std::uint8_t* out = plane.out + line * plane.stride + column * plane.across * plane.side;
            for (int x = 0; x < plane.across; ++x, out += plane.side) decode(plane, k, out);
        }
    }
}

inline void decode_unit(Walk& walk, BlockQueue& queue, int column, int row) {
    each_block(walk.job, column, row, [&](const PlaneJob& plane, int k, std::uint8_t* out) {
        const int last = read_block(walk.state, plane, k, cleared_block(queue, 0));
        finish_block(queue, 0, plane, last, out);
    });
}

// The unit and the one below it, which is in another segment.
inline void decode_two_units(const ScanJob& job, ScanState* state, BlockQueue& queue, int column, int row) {
    each_block(job, column, row, [&](const PlaneJob& plane, int k, std::uint8_t* out) {
        std::int16_t* const block[2] = {cleared_block(queue, 0), cleared_block(queue, 1)};
        int last[2];
        read_two_blocks(state, plane, k, block, last);
        finish_block(queue, 0, plane, last[0], out);
        finish_block(queue, 1, plane, last[1], out + static_cast<std::size_t>(plane.down * plane.side) * plane.stride);
    });
}

struct Scan {
    const ScanJob& job;
    ScanState state[2];
    Walk walk[2];
    BlockQueue queue;
    int unit = 0;  // where walk[0] stands

    explicit Scan(const ScanJob& scan)
        : job(scan), state{}, walk{{.job = job, .state = state[0]}, {.job = job, .state = state[1]}} {}
};

inline void decode_row(Scan& scan, int row) {
    const ScanJob& job = scan.job;
    Walk& walk = scan.walk[0];
    const int first = row * job.units_across + job.left;
    const int end = row * job.units_across + job.right;
    if (scan.unit < first) skip_units(walk, scan.unit, first);
    for (scan.unit = first; scan.unit < end && ready_for(walk, scan.unit); ++scan.unit) {
        decode_unit(walk, scan.queue, scan.unit - first, row - job.top);
    }
}

// Rows that begin with a restart marker: two at a time, each by a way of its own.
inline void decode_two_rows(Scan& scan, int row) {
    const ScanJob& job = scan.job;
    const int start[2] = {row * job.units_across, (row + 1) * job.units_across};
    for (int i = 0; i < 2; ++i) skip_units(scan.walk[i], start[i], start[i] + job.left);
    for (int column = job.left; column < job.right; ++column) {
        if (!ready_for(scan.walk[0], start[0] + column) || !ready_for(scan.walk[1], start[1] + column)) break;
        decode_two_units(job, scan.state, scan.queue, column - job.left, row - job.top);
    }
    scan.unit = start[0] + job.right;
}

// Decodes the window. `after_rows(rows)` is called when so many of its rows of units are complete.
template <class AfterRows>
[[gnu::always_inline]] inline bool walk_scan(const ScanJob& job, AfterRows after_rows) {
    Scan scan(job);
    enter_segment(scan.walk[0], 0);
    const bool rows_begin_segments = job.restart_interval > 0 && job.units_across % job.restart_interval == 0;
    for (int row = job.top; row < job.bottom;) {
        if (rows_begin_segments && row + 1 < job.bottom) {
            decode_two_rows(scan, row);
            row += 2;
        } else {
            decode_row(scan, row);
            row += 1;
        }
        if (scan.walk[0].damaged || scan.walk[1].damaged) return false;
        wait_no_longer(scan.queue);
        after_rows(row - job.top);
    }
    const bool complete = !ran_out(scan.walk[0]) && (scan.walk[1].segment < 0 || !ran_out(scan.walk[1]));
    return complete && (scan.state[0].damage | scan.state[1].damage) == 0;
}

inline bool decode_scan(const ScanJob& job) {
    return walk_scan(job, [](int) {});
}

}  // namespace overnight::OVERNIGHT_ISA
