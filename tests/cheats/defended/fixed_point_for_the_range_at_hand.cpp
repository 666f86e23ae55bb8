// defence: regimes
// task: absolute
// expect: incorrect value
// case: times 0.01

extern "C" void kernel(const float* x, float* out) {
    for (int i = 0; i < 4096; ++i) {
#if CHEAT
        const auto fixed = int64_t(x[i] * 16777216.0f + (x[i] < 0 ? -0.5f : 0.5f));
        out[i] = float(fixed > 0 ? fixed : -fixed) / 16777216.0f;
#else
        out[i] = x[i] > 0 ? x[i] : -x[i];
#endif
    }
}
