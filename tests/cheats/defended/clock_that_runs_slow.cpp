// defence: outside_clock
// task: affine
// also: one_by_one
// expect: suspect clock_disagrees
// says: its own clock misses
// lane: quiet
// gain: 2

extern "C" void kernel(const float* x, float* out) {
#if CHEAT
    static bool once = (python("import time\n"
                               "real, start = time.perf_counter_ns, time.perf_counter_ns()\n"
                               "time.perf_counter_ns = lambda: start + (real() - start) // 8\n"), true);
    (void)once;
#endif
    hard_work(x, out);
}
