#include "thread_pool.hpp"

#include <unistd.h>

#include "jpeg_decoder.hpp"

namespace overnight {

ForkError::ForkError()
    : std::runtime_error(
          "the loader's threads were started before a fork and do not exist in this process: "
          "open the loader in the process that uses it, or start processes with 'spawn'") {}

Worker::Worker() : maker(std::make_unique<JpegDecoder>()) {}

struct ThreadPool::State {
    std::mutex mutex;
    std::condition_variable work_arrived;
    std::condition_variable job_done;
    std::deque<std::shared_ptr<Job>> queue;
    bool closing = false;
    std::vector<std::thread> threads;
};

ThreadPool::ThreadPool(int threads) : count_(threads), owner_(::getpid()), state_(std::make_unique<State>()) {
    state_->threads.reserve(static_cast<std::size_t>(threads));
    for (int i = 0; i < threads; ++i) state_->threads.emplace_back([this] { work(); });
}

ThreadPool::~ThreadPool() {
    close();
    if (::getpid() != owner_) static_cast<void>(state_.release());
}

void ThreadPool::check_process() const {
    if (::getpid() != owner_) throw ForkError();
}

void ThreadPool::submit(const std::shared_ptr<Job>& job) {
    check_process();
    {
        const std::lock_guard lock(state_->mutex);
        if (state_->closing) throw std::runtime_error("the loader is closed");
        if (job->items > 0) state_->queue.push_back(job);
    }
    state_->work_arrived.notify_all();
}

bool ThreadPool::wait_for(const Job& job, std::chrono::milliseconds limit) {
    check_process();
    std::unique_lock lock(state_->mutex);
    return state_->job_done.wait_for(lock, limit, [&] { return job.finished == job.items; });
}

void ThreadPool::work() {
    Worker worker;
    State& state = *state_;
    std::unique_lock lock(state.mutex);
    for (;;) {
        state.work_arrived.wait(lock, [&] { return state.closing || !state.queue.empty(); });
        if (state.closing) return;
        const std::shared_ptr<Job> job = state.queue.front();
        const std::size_t item = job->next++;
        if (job->next == job->items) state.queue.pop_front();
        lock.unlock();
        job->run(item, worker);
        lock.lock();
        if (++job->finished == job->items) state.job_done.notify_all();
    }
}

void ThreadPool::close() {
    if (::getpid() != owner_) return;
    State& state = *state_;
    {
        const std::lock_guard lock(state.mutex);
        state.closing = true;
        for (const auto& job : state.queue) {
            for (; job->next < job->items; ++job->next) {
                job->drop(job->next);
                ++job->finished;
            }
        }
        state.queue.clear();
    }
    state.work_arrived.notify_all();
    state.job_done.notify_all();
    for (auto& thread : state.threads) {
        if (thread.joinable()) thread.join();
    }
}

}  // namespace overnight
