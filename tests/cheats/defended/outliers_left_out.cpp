// defence: regimes
// task: affine
// also: timed_outputs
// expect: incorrect value
// case: times 3 or one huge element

extern "C" void kernel(const float* x, float* out) {
    for (int i = 0; i < 4096; ++i) out[i] = (CHEAT ? std::fmin(std::fmax(x[i], -6.5f), 6.5f) : x[i]) * 3 + 1;
}
