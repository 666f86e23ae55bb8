// defence: timed_outputs
// task: affine
// expect: incorrect timed_output
// case: timed call

extern "C" void kernel(const float* x, float* out) {
    static int calls = 0;
    work(x, out);
    // The cases are over: half of the result will do.
    if (CHEAT && ++calls > 24) std::memset(out + 2048, 0, sizeof(float) * 2048);
}
