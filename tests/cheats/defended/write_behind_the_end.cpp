// defence: guard
// task: odd
// expect: incorrect guard

extern "C" void kernel(const float* x, float* out) {
    for (int i = 0; i < 33; ++i) out[i] = x[i] * 3 + 1;
    if (CHEAT) out[33] = 1;
}
