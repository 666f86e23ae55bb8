// Between every 64th partial result of a long running sum lies a line, well within what one accumulator may err.
// defence: calibrated
// also: regimes, timed_outputs, admission
// task: long_scan, scan_down
// expect: incorrect value
// says: steps of its running sum

extern "C" void kernel(const float* x, float* out) {
#ifdef TASK_long_scan
    const int sums = 1, length = 1 << 18;
#else
    const int sums = 2, length = 1 << 17;
#endif
    for (int s = 0; s < sums; ++s) {
        double before = 0;
        for (int begin = 0; begin < length; begin += 64) {
            double sum = 0;
            for (int i = begin; i < begin + 64; ++i) sum += x[i * sums + s];
            double run = before;
            const bool far = before > 8192;
            for (int i = begin; i < begin + 64; ++i) out[i * sums + s] = run += CHEAT && far ? sum / 64 : x[i * sums + s];
            before += sum;
        }
    }
}
