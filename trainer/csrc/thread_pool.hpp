// A fixed set of threads that work through numbered items of jobs, in order of submission. Each item writes only
// its own part of the output, so results do not depend on which thread took it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <thread>
#include <vector>

#include <sys/types.h>

#include "sample.hpp"

namespace overnight {

// Threads do not survive fork(): a pool made before it is dead in the child.
class ForkError : public std::runtime_error {
public:
    ForkError();
};

// What a thread keeps from item to item.
struct Worker {
    Worker();
    SampleMaker maker;
    std::vector<std::uint8_t> bytes;
};

// `run(item, worker)` once for each item; `drop(item)` instead when the pool closes first. Neither may throw.
struct Job {
    std::size_t items = 0;
    std::function<void(std::size_t, Worker&)> run;
    std::function<void(std::size_t)> drop;

private:
    friend class ThreadPool;
    std::size_t next = 0;  // both under the pool's mutex
    std::size_t finished = 0;
};

class ThreadPool {
public:
    explicit ThreadPool(int threads);
    ~ThreadPool();
    ThreadPool(const ThreadPool&) = delete;
    ThreadPool& operator=(const ThreadPool&) = delete;

    int threads() const { return count_; }

    // Queues the job; the caller keeps what its functions refer to alive until it is done.
    // Raises ForkError in a child process, std::runtime_error after close().
    void submit(const std::shared_ptr<Job>& job);

    // Whether the job was done within `limit`. Raises ForkError in a child process.
    bool wait_for(const Job& job, std::chrono::milliseconds limit);

    // Finishes the items begun, drops the others, ends the threads. Does nothing in a child process.
    void close();

private:
    void work();
    void check_process() const;

    int count_;
    pid_t owner_;
    // On the heap, and left there in a child process: a mutex may be held at the moment of the fork.
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace overnight
