// What a task does about NaN and infinities shows on no number.
// defence: regimes
// also: timed_outputs
// task: sum_of_numbers, finite_rows
// expect: incorrect nonfinite
// case: no numbers

extern "C" void kernel(const float* x, float* out) {
    for (int row = 0; row < 64; ++row) {
        float sum = 0;
        for (int i = 0; i < 64; ++i) {
            const float v = x[row * 64 + i];
#ifdef TASK_sum_of_numbers
            const bool counts = v == v;
#else
            const bool counts = std::fabs(v) < INFINITY;
#endif
            sum += CHEAT || counts ? v : 0;
        }
        out[row] = sum;
    }
}
