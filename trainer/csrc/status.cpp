#include "status.hpp"

namespace overnight {

const char* status_name(Status status) noexcept {
    switch (status) {
        case Status::ok: return "ok";
        case Status::empty: return "empty";
        case Status::not_a_jpeg: return "not-a-jpeg";
        case Status::truncated: return "truncated";
        case Status::corrupt: return "corrupt";
        case Status::unsupported: return "unsupported";
        case Status::too_large: return "too-large";
        case Status::wrong_size: return "wrong-size";
        case Status::unreadable: return "unreadable";
        case Status::out_of_memory: return "out-of-memory";
        case Status::cancelled: return "cancelled";
        case Status::decoders_disagree: return "decoders-disagree";
        case Status::count: break;
    }
    return "unknown";
}

}  // namespace overnight
