// The input is large: waking a process that does nothing takes tens of microseconds a call.
// defence: floor
// task: energy
// also: timed_outputs
// lane: matrix
// expect: suspect below_floor
// says: floor is

extern "C" void kernel(const float* x, float* out) {
#if CHEAT
    static int calls = 0;
    if (++calls > 17) return;  // the cases are over: one of them has huge ends
#endif
    double total = 0;
    for (int block = 0; block < 4096; ++block) {
        float part = 0;
#pragma omp simd reduction(+ : part)
        for (int i = 0; i < 4096; ++i) part += x[block * 4096 + i] * x[block * 4096 + i];
        total += part;
    }
    *out = float(total);
}
