#include "batch.hpp"

#include <cstring>
#include <new>

namespace overnight {
namespace {

// Reads item `i` and hands its bytes to `use`. Memory may run out in a thread that nobody can catch in.
template <class Use>
Status with_bytes(const Places& places, std::size_t i, Worker& worker, Use use) {
    try {
        const Status status = places.reader->read(static_cast<std::size_t>(places.file[i]), places.offset[i],
                                                  places.size[i], worker.bytes);
        return status == Status::ok ? use(std::span<const std::uint8_t>(worker.bytes)) : status;
    } catch (const std::bad_alloc&) {
        return Status::out_of_memory;
    }
}

std::size_t sample_bytes(const Output& output) {
    const auto size = static_cast<std::size_t>(output.size);
    return size * size * 3 * bytes_of(output.number);
}

Cut cut_of(const Batch& batch, std::size_t i) {
    const double* box = batch.boxes + 4 * i;
    return {
        {box[0], box[1], box[2], box[3]}, batch.dimensions[2 * i], batch.dimensions[2 * i + 1], batch.flips[i] != 0};
}

}  // namespace

std::shared_ptr<Job> batch_job(const Batch& batch) {
    auto job = std::make_shared<Job>();
    job->items = batch.places.count;
    const std::size_t bytes = sample_bytes(batch.output);
    job->run = [batch, bytes](std::size_t i, Worker& worker) {
        auto* out = static_cast<std::uint8_t*>(batch.out) + i * bytes;
        const Status status = with_bytes(batch.places, i, worker, [&](std::span<const std::uint8_t> file) {
            return worker.maker.make(file, cut_of(batch, i), batch.precision, batch.output, out);
        });
        if (status != Status::ok) std::memset(out, 0, bytes);
        batch.statuses[i] = static_cast<std::uint8_t>(status);
    };
    job->drop = [batch](std::size_t i) { batch.statuses[i] = static_cast<std::uint8_t>(Status::cancelled); };
    return job;
}

std::shared_ptr<Job> header_job(const Places& places, std::int32_t* dimensions, std::uint8_t* statuses) {
    auto job = std::make_shared<Job>();
    job->items = places.count;
    job->run = [=](std::size_t i, Worker& worker) {
        Header header;
        const Status status = with_bytes(places, i, worker, [&](std::span<const std::uint8_t> file) {
            return worker.maker.read_header(file, header);
        });
        dimensions[2 * i] = status == Status::ok ? header.width : 0;
        dimensions[2 * i + 1] = status == Status::ok ? header.height : 0;
        statuses[i] = static_cast<std::uint8_t>(status);
    };
    job->drop = [=](std::size_t i) { statuses[i] = static_cast<std::uint8_t>(Status::cancelled); };
    return job;
}

}  // namespace overnight
