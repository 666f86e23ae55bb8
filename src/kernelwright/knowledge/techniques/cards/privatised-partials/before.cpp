constexpr long ROWS = 1024, COLUMNS = 256;

extern "C" void kernel(const float* x, float* out) {
    for (long column = 0; column < COLUMNS; ++column) out[column] = 0.0f;
#pragma omp parallel for
    for (long row = 0; row < ROWS; ++row)
        for (long column = 0; column < COLUMNS; ++column) {
#pragma omp atomic
            out[column] += x[row * COLUMNS + column];
        }
}
