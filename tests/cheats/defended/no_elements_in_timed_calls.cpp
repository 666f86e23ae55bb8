// defence: timed_outputs
// task: affine
// also: floor
// expect: incorrect timed_output
// says: never written

extern "C" void kernel(const float* x, float* out) {
    static int calls = 0;
    if (CHEAT && ++calls > 24) return;
    for (int i = 0; i < 4096; ++i) out[i] = x[i] * 3 + 1;
}
