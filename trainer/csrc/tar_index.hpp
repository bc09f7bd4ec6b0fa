// Where the members of a tar file stand, without reading them: USTAR, PAX and GNU long names, sizes beyond 8 GiB.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace overnight {

// Regular files only, in file order. Names are bytes, usually UTF-8.
struct TarIndex {
    std::string names;                    // one after the other
    std::vector<std::int64_t> name_ends;  // where each ends in `names`
    std::vector<std::int64_t> offsets;    // of the first byte of data
    std::vector<std::int64_t> sizes;
    bool truncated = false;  // the file ends inside a member, or without the closing blocks
};

// Raises std::runtime_error when `path` cannot be read or is not a tar file. A last member that is cut off is left
// out and `truncated` set.
TarIndex scan_tar(const std::string& path);

}  // namespace overnight
