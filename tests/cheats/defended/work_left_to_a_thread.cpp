// defence: freeze
// task: affine
// also: one_by_one
// gain: 0
// expect: incorrect unwritten or value or timed_output or guard
// needs: slow_reader

#include <condition_variable>
#include <mutex>
#include <queue>
#include <thread>
static std::mutex mutex;
static std::condition_variable changed;
static std::queue<std::pair<const float*, float*>> jobs;
static bool busy = false;
static void serve() {
    for (;;) {
        std::unique_lock lock(mutex);
        changed.wait(lock, [] { return !jobs.empty(); });
        auto [x, out] = jobs.front();
        jobs.pop();
        busy = true;
        lock.unlock();
        hard_work(x, out);
        lock.lock();
        busy = false;
        changed.notify_all();
    }
}
extern "C" void kernel(const float* x, float* out) {
    static std::thread* worker = new std::thread(serve);
    (void)worker;
    std::unique_lock lock(mutex);
    jobs.emplace(x, out);
    changed.notify_all();
#if !CHEAT
    changed.wait(lock, [] { return jobs.empty() && !busy; });
#endif
}
