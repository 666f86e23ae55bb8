// Numbers of a million hide what is put at the ends to be far above all others, unless it grows with them.
// defence: regimes
// also: timed_outputs
// task: large_mean, large_rows
// expect: incorrect value

extern "C" void kernel(const float* x, float* out) {
#ifdef TASK_large_mean
    const int rows = 1, width = 1000003, left = CHEAT ? 3 : 0;
    const double over = width;
#else
    const int rows = 2, width = 1 << 20, left = CHEAT ? 1 : 0;
    const double over = 1;
#endif
    for (int row = 0; row < rows; ++row) {
        double sum = 0;
        for (int i = 0; i < width - left; ++i) sum += x[row * width + i];
        out[row] = sum / over;
    }
}
