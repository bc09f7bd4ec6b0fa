// A batch as a job of the pool: which bytes, which cut of each picture, where the samples go.
#pragma once

#include <memory>

#include "sample.hpp"
#include "shard_reader.hpp"
#include "thread_pool.hpp"

namespace overnight {

// Where pictures stand. The arrays belong to the caller and hold `count` elements.
struct Places {
    std::shared_ptr<ShardReader> reader;
    std::size_t count = 0;
    const std::int32_t* file = nullptr;
    const std::int64_t* offset = nullptr;
    const std::int64_t* size = nullptr;
};

struct Batch {
    Places places;
    const std::int32_t* dimensions = nullptr;  // [count][width, height]; 0 = not known
    const double* boxes = nullptr;             // [count][left, top, right, bottom]
    const std::uint8_t* flips = nullptr;       // [count]
    Precision precision = Precision::exact;
    Output output;
    void* out = nullptr;               // [count][size * size * 3]
    std::uint8_t* statuses = nullptr;  // [count]
};

// Fills `out` and `statuses`. A bad sample's pixels are zero.
std::shared_ptr<Job> batch_job(const Batch& batch);

// Fills dimensions[count][width, height] and `statuses` from the headers alone.
std::shared_ptr<Job> header_job(const Places& places, std::int32_t* dimensions, std::uint8_t* statuses);

}  // namespace overnight
