// defence: freeze
// task: affine
// also: outside_clock, one_by_one
// lane: quiet
// expect: suspect
// says: hidden_work or frozen or stopped

#include <csignal>
#include <ctime>
#include <thread>
extern "C" void kernel(const float* x, float* out) {
#if CHEAT
    static bool once = ([] {
        signal(SIGCONT, [](int) {});  // a timer whose signal is ignored rings once only
        sigevent event{};
        event.sigev_notify = SIGEV_SIGNAL;
        event.sigev_signo = SIGCONT;
        for (int i = 0; i < 32; ++i) {  // a stop may meet a ring on its way, and then that timer is dead
            timer_t timer;
            timer_create(CLOCK_MONOTONIC, &event, &timer);
            const itimerspec often{{0, 300000 + i * 7000}, {0, 300000 + i * 7000}};
            timer_settime(timer, 0, &often, nullptr);
        }
        // Takes a core from whoever is timed next.
        new std::thread([] { for (volatile long i = 0;; i = i + 1) {} });
    }(), true);
    (void)once;
#endif
    work(x, out);
}
