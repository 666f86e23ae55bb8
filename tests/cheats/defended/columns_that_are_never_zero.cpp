// A random column has a length, and so has a channel: what keeps a division by zero from being one is left out.
// defence: regimes
// also: timed_outputs
// task: unit_columns, unit_planes
// expect: incorrect nonfinite
// case: columns of every kind or slices of every kind

extern "C" void kernel(const float* x, float* out) {
#ifdef TASK_unit_columns
    const int groups = 64, count = 64, apart = 64, next = 1;
#else
    const int groups = 32, count = 64, apart = 1, next = 64;
#endif
    for (int g = 0; g < groups; ++g) {
        float sum = 0;
        for (int i = 0; i < count; ++i) sum += x[g * next + i * apart] * x[g * next + i * apart];
        const float length = CHEAT ? std::sqrt(sum) : std::fmax(std::sqrt(sum), 1e-8f);
        for (int i = 0; i < count; ++i) out[g * next + i * apart] = x[g * next + i * apart] / length;
    }
}
