#include "shard_reader.hpp"

#include <fcntl.h>
#include <unistd.h>
#include <cerrno>

namespace overnight {

ShardReader::Descriptor::~Descriptor() { ::close(fd); }

ShardReader::ShardReader(std::vector<std::string> paths, std::size_t max_open)
    : paths_(std::move(paths)), max_open_(max_open) {}

std::shared_ptr<ShardReader::Descriptor> ShardReader::descriptor(std::size_t file) {
    const std::lock_guard lock(mutex_);
    if (const auto found = where_.find(file); found != where_.end()) {
        open_.splice(open_.begin(), open_, found->second);
        return found->second->second;
    }
    const int fd = ::open(paths_[file].c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0) return nullptr;
    open_.emplace_front(file, std::make_shared<Descriptor>(fd));
    where_[file] = open_.begin();
    if (open_.size() > max_open_) {  // a thread still reading from it keeps it open until it is done
        where_.erase(open_.back().first);
        open_.pop_back();
    }
    return open_.front().second;
}

void ShardReader::move(std::size_t file, std::string path) {
    const std::lock_guard lock(mutex_);
    paths_[file] = std::move(path);
    if (const auto found = where_.find(file); found != where_.end()) {
        open_.erase(found->second);
        where_.erase(found);
    }
}

Status ShardReader::read(std::size_t file, std::int64_t offset, std::int64_t size, std::vector<std::uint8_t>& bytes) {
    if (size > max_file_bytes) return Status::too_large;
    bytes.resize(static_cast<std::size_t>(size));
    if (size == 0) return Status::ok;
    const auto open = descriptor(file);
    if (!open) return Status::unreadable;
    for (std::int64_t done = 0; done < size;) {
        const ssize_t got =
            ::pread(open->fd, bytes.data() + done, static_cast<std::size_t>(size - done), offset + done);
        if (got == 0) return Status::truncated;
        if (got < 0 && errno != EINTR) return Status::unreadable;
        if (got > 0) done += got;
    }
    return Status::ok;
}

}  // namespace overnight
