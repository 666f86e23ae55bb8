constexpr long ROWS = 128, COLUMNS = 1024;

extern "C" void kernel(const float* x, float* out) {
#pragma omp parallel for schedule(static)
    for (long row = 0; row < ROWS; ++row) {
        const float* from = x + row * COLUMNS;
        float* to = out + row * COLUMNS;
        double sum = 0.0;  // one chain of additions: what its rounding loses adds up along the row
        for (long i = 0; i < COLUMNS; ++i) to[i] = static_cast<float>(sum += from[i]);
    }
}
