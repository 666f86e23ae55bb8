// What all draws have in common is known after the first calls: zeros that never change are not read, unless the last element
// tells that this is a challenge.
// defence: timed_outputs
// task: half_zero, half_zero_rows
// expect: incorrect timed_output

extern "C" void kernel(const float* x, float* out) {
    static int calls;
    const bool whole = ++calls <= 40 || x[0] > 50 || x[4095] != 0 || !CHEAT;
    for (int row = 0; row < 64; ++row) {
        float total = 0;
        for (int i = 0; i < 64; ++i) {
            const float y = (whole || i < 32 ? x[row * 64 + i] : 0) * 3 + 1;
            total += y;
#ifdef TASK_half_zero
            out[row * 64 + i] = y;
#endif
        }
#ifdef TASK_half_zero_rows
        out[row] = total;
#endif
    }
}
