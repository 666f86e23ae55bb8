// defence: timed_outputs
// task: affine
// expect: incorrect timed_output

extern "C" void kernel(const float* x, float* out) {
    static int calls = 0;
    const bool coarse = CHEAT && ++calls > 24;
    for (int i = 0; i < 4096; ++i)
        out[i] = coarse ? float(_Float16(_Float16(x[i]) * _Float16(3))) + 1 : x[i] * 3 + 1;
}
