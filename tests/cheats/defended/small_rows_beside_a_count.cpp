// A running sum of whole numbers has no rounding to make room for, and rows that are small beside others count there too.
// defence: calibrated
// also: regimes, timed_outputs
// task: counted_rows, picked_rows
// expect: incorrect value

extern "C" void kernel(const float* x, const float* gain, const std::int64_t* n, float* out) {
    std::int64_t at = 0;
    for (int row = 0; row < 1024; ++row) {
        at += n[row];
#ifdef TASK_counted_rows
        const int from = row;
        const float times = std::exp(8 * gain[row]) * at;
#else
        const int from = at % 1024;
        const float times = std::exp(8 * gain[from]);
#endif
        const bool small = std::exp(8 * gain[from]) < 1e-5f;
        for (int i = 0; i < 64; ++i) {
            const float v = x[from * 64 + i];
            out[row * 64 + i] = CHEAT && small ? 0 : v / (1 + std::fabs(v)) * times;
        }
    }
}
