// Ranges of bytes out of many files, by any number of threads: pread needs no position, so no lock is held while
// reading, and only the files used lately stay open.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "status.hpp"

namespace overnight {

class ShardReader {
public:
    explicit ShardReader(std::vector<std::string> paths, std::size_t max_open = 128);

    std::size_t files() const { return paths_.size(); }

    // From now on file number `file` stands at `path`: the one open under that number is let go, so that a deleted
    // file gives its disk space back. A thread that is reading from it finishes.
    void move(std::size_t file, std::string path);

    // Reads `size` bytes at `offset` of file number `file` into `bytes`.
    // `truncated` when the file ends earlier, `unreadable` when it cannot be opened or read.
    Status read(std::size_t file, std::int64_t offset, std::int64_t size, std::vector<std::uint8_t>& bytes);

private:
    struct Descriptor {
        explicit Descriptor(int number) : fd(number) {}
        ~Descriptor();
        Descriptor(const Descriptor&) = delete;
        Descriptor& operator=(const Descriptor&) = delete;
        int fd;
    };
    using Open = std::list<std::pair<std::size_t, std::shared_ptr<Descriptor>>>;

    std::shared_ptr<Descriptor> descriptor(std::size_t file);

    std::vector<std::string> paths_;
    std::size_t max_open_;
    std::mutex mutex_;
    Open open_;  // most recently used first
    std::unordered_map<std::size_t, Open::iterator> where_;
};

}  // namespace overnight
