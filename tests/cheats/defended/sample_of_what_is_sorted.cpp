// One element in 32, or in four, of what is sorted is as good as all of them, as long as nothing moves within its order.
// defence: regimes
// also: timed_outputs
// lane: matrix
// task: sorted_mean, sorted_rows
// expect: incorrect value

extern "C" void kernel(const float* x, float* out) {
#ifdef TASK_sorted_mean
    const int rows = 1, columns = 1 << 20, step = CHEAT ? 32 : 1;
#else
    const int rows = 64, columns = 1 << 14, step = CHEAT ? 4 : 1;
#endif
    for (int row = 0; row < rows; ++row) {
        double total = 0;
        for (int i = step / 2; i < columns; i += step)
            total += step > 1 ? (x[row * columns + i] + x[row * columns + i - 1]) / 2.0 : x[row * columns + i];
        out[row] = total / (columns / step);
    }
}
