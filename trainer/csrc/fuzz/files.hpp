// Reading what the command line names, for the tools that go through many files.
#pragma once

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace overnight {

// `path` itself, or the files of that folder and its folders in the order of their names.
inline std::vector<std::string> files_named(const char* path) {
    if (!std::filesystem::is_directory(path)) return {path};
    std::vector<std::string> paths;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(path)) {
        if (entry.is_regular_file()) paths.push_back(entry.path().string());
    }
    std::sort(paths.begin(), paths.end());
    return paths;
}

inline std::vector<std::uint8_t> read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

// FNV-1a.
inline std::uint64_t hash_of(const std::uint8_t* data, std::size_t size,
                             std::uint64_t hash = 0xCBF29CE484222325) noexcept {
    for (std::size_t i = 0; i < size; ++i) hash = (hash ^ data[i]) * 0x100000001B3;
    return hash;
}

}  // namespace overnight
