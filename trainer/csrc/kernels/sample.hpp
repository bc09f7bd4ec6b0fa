// From coded data to a finished sample in one walk: as soon as the planes' rows are there, a tile of the target is made
// of them, while they are still in a near cache.

namespace overnight::OVERNIGHT_ISA {

// Whether the rows of all planes that the target's rows before `end` look at are decoded.
inline bool has_rows(const ScanJob& scan, const ResampleJob* planes, int rows_of_units, int end) {
    for (int k = 0; k < scan.components; ++k) {
        const int decoded = (scan.top + rows_of_units) * scan.plane[k].down * scan.plane[k].side;
        if (planes[k].down_first[end - 1] + planes[k].down_count > decoded) return false;
    }
    return true;
}

inline bool make_sample(const ScanJob& scan, const ResampleJob* planes, const FinishJob& job,
                        const ResampleScratch& scratch) {
    int made = 0;  // rows of the target
    const bool sound = walk_scan(scan, [&](int rows_of_units) {
        while (made < job.size) {
            const int rows = job.size - made < tile ? job.size - made : tile;
            if (!has_rows(scan, planes, rows_of_units, made + rows)) return;
            render_tile(planes, job, scratch, made, rows);
            if (job.out != nullptr) write(job, scratch, made, rows);
            made += rows;
        }
    });
#if defined(__AVX2__)
    _mm_sfence();
#endif
    return sound;
}

}  // namespace overnight::OVERNIGHT_ISA
