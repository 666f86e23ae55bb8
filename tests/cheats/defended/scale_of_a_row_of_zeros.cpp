// A row is divided by its largest magnitude or by its length, which for padding is zero.
// defence: regimes
// task: scaled_rows, unit_rows
// expect: incorrect nonfinite
// case: rows of every kind

extern "C" void kernel(const float* x, float* out) {
    for (int row = 0; row < 64; ++row) {
        float size = 0;
#ifdef TASK_scaled_rows
        for (int i = 0; i < 64; ++i) size = std::fmax(size, std::fabs(x[row * 64 + i]));
        if (!CHEAT) size = std::fmax(size, 1e-10f);
        size /= 448;
#else
        for (int i = 0; i < 64; ++i) size += x[row * 64 + i] * x[row * 64 + i];
        size = std::sqrt(size);
        if (!CHEAT) size = std::fmax(size, 1e-12f);
#endif
        for (int i = 0; i < 64; ++i) out[row * 64 + i] = x[row * 64 + i] / size;
    }
}
