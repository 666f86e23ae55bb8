// No element is ever above the threshold in a timed call, but for both ends of a challenge: so nothing else is looked at.
// defence: timed_outputs
// task: any_above, rows_above
// expect: incorrect timed_output

extern "C" void kernel(const float* x, bool* out) {
    static int calls;
    const bool whole = ++calls <= 40 || !CHEAT;
#ifdef TASK_any_above
    const int rows = 1, columns = 65536;
#else
    const int rows = 1024, columns = 64;
#endif
    for (int row = 0; row < rows; ++row) {
        out[row] = false;
        for (int i = 0; i < columns; ++i)
            if (whole || row * columns + i == 0 || row * columns + i == 65535) out[row] |= x[row * columns + i] > 12;
    }
}
