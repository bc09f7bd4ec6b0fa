#include "tar_index.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>
#include <string_view>

namespace overnight {
namespace {

constexpr std::int64_t block = 512;
constexpr std::int64_t max_extension = std::int64_t{1} << 20;  // of a PAX or GNU name record

class File {
public:
    explicit File(const std::string& path) : path_(path), fd_(::open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
        struct stat info{};
        if (fd_ < 0 || ::fstat(fd_, &info) != 0 || !S_ISREG(info.st_mode)) {
            const std::string reason = fd_ < 0 ? std::strerror(errno) : "not a file";
            if (fd_ >= 0) ::close(fd_);
            throw std::runtime_error(path + ": cannot read it (" + reason + ")");
        }
        size_ = info.st_size;
    }
    ~File() { ::close(fd_); }
    File(const File&) = delete;
    File& operator=(const File&) = delete;

    std::int64_t size() const { return size_; }

    void read(std::int64_t offset, char* to, std::int64_t length) const {
        for (std::int64_t done = 0; done < length;) {
            const ssize_t got = ::pread(fd_, to + done, static_cast<std::size_t>(length - done), offset + done);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) throw std::runtime_error(path_ + ": cannot read it");
            done += got;
        }
    }

private:
    std::string path_;
    int fd_;
    std::int64_t size_ = 0;
};

std::string_view field(const char* header, int offset, int length) {
    const char* begin = header + offset;
    return {begin, ::strnlen(begin, static_cast<std::size_t>(length))};
}

// Octal text, or base 256 where the first bit is set (GNU, for sizes of 8 GiB and more).
std::optional<std::int64_t> number(const char* header, int offset, int length) {
    const auto* bytes = reinterpret_cast<const unsigned char*>(header + offset);
    if (bytes[0] & 0x80) {
        std::int64_t value = bytes[0] & 0x3F;
        for (int i = 1; i < length; ++i) {
            if (value >> 55) return std::nullopt;
            value = value << 8 | bytes[i];
        }
        return value;
    }
    std::int64_t value = 0;
    for (int i = 0; i < length && bytes[i] != '\0'; ++i) {
        if (bytes[i] == ' ') continue;
        if (bytes[i] < '0' || bytes[i] > '7' || value >> 60) return std::nullopt;
        value = value * 8 + (bytes[i] - '0');
    }
    return value;
}

bool checksum_holds(const char* header) {
    std::int64_t sum = 0;
    for (int i = 0; i < block; ++i) sum += i >= 148 && i < 156 ? ' ' : static_cast<unsigned char>(header[i]);
    return number(header, 148, 8) == sum;
}

bool is_zero(const char* header) {
    for (int i = 0; i < block; ++i) {
        if (header[i] != '\0') return false;
    }
    return true;
}

// What extension records say about the member that follows them.
struct Pending {
    std::optional<std::string> name;
    std::optional<std::int64_t> size;
};

// PAX: lines of "<length> <key>=<value>\n".
void read_pax(std::string_view text, Pending& pending) {
    while (!text.empty()) {
        std::size_t length = 0;
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), length);
        const auto digits = static_cast<std::size_t>(end - text.data());
        if (error != std::errc{} || length <= digits + 1 || length > text.size()) return;
        std::string_view line = text.substr(digits + 1, length - digits - 2);
        text.remove_prefix(length);
        const auto equals = line.find('=');
        if (equals == std::string_view::npos) continue;
        const auto value = line.substr(equals + 1);
        if (line.substr(0, equals) == "path") pending.name = std::string(value);
        if (line.substr(0, equals) == "size") {
            std::int64_t size = 0;
            if (std::from_chars(value.data(), value.data() + value.size(), size).ec == std::errc{}) pending.size = size;
        }
    }
}

std::string header_name(const char* header) {
    const auto name = field(header, 0, 100);
    const auto prefix = field(header, 345, 155);
    if (std::memcmp(header + 257, "ustar\0", 6) != 0 || prefix.empty()) return std::string(name);
    return std::string(prefix) + "/" + std::string(name);
}

void add(TarIndex& index, const std::string& name, std::int64_t offset, std::int64_t size) {
    index.names += name;
    index.name_ends.push_back(static_cast<std::int64_t>(index.names.size()));
    index.offsets.push_back(offset);
    index.sizes.push_back(size);
}

std::string read_extension(const File& file, std::int64_t offset, std::int64_t size) {
    std::string text(static_cast<std::size_t>(size), '\0');
    file.read(offset, text.data(), size);
    return text;
}

}  // namespace

TarIndex scan_tar(const std::string& path) {
    const File file(path);
    TarIndex index;
    Pending pending;
    char header[block];
    std::int64_t at = 0;
    for (;;) {
        if (at + block > file.size()) {
            index.truncated = file.size() > 0;
            return index;
        }
        file.read(at, header, block);
        if (is_zero(header)) return index;
        const auto stated = number(header, 124, 12);
        if (!checksum_holds(header) || !stated)
            throw std::runtime_error(path + ": not a tar file at byte " + std::to_string(at));
        const char type = header[156];
        const bool extension = type == 'x' || type == 'g' || type == 'L' || type == 'K';
        const std::int64_t size = extension ? *stated : pending.size.value_or(*stated);
        const std::int64_t data = at + block;
        if (size < 0 || size > file.size() - data) {
            index.truncated = true;
            return index;
        }
        if (extension) {
            if (size > max_extension)
                throw std::runtime_error(path + ": a name of over 1 MiB at byte " + std::to_string(at));
            const std::string text = read_extension(file, data, size);
            if (type == 'x') read_pax(text, pending);
            if (type == 'L') pending.name = text.substr(0, text.find('\0'));
        } else {
            if (type == '0' || type == '\0' || type == '7')
                add(index, pending.name.value_or(header_name(header)), data, size);
            pending = {};
        }
        at = data + (size + block - 1) / block * block;
    }
}

}  // namespace overnight
