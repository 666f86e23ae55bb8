constexpr long ROWS = 128, COLUMNS = 1024;

extern "C" void kernel(const float* x, float* out) {
#pragma omp parallel for schedule(static)
    for (long row = 0; row < ROWS; ++row) {
        const float* from = x + row * COLUMNS;
        float* to = out + row * COLUMNS;
        // The ends apart, so that the loop between them has no branch and is vectorised.
        to[0] = 0.5f * from[0] + 0.25f * from[1];
#pragma omp simd
        for (long i = 1; i < COLUMNS - 1; ++i) to[i] = 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1];
        to[COLUMNS - 1] = 0.25f * from[COLUMNS - 2] + 0.5f * from[COLUMNS - 1];
    }
}
