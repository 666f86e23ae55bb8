constexpr long ROWS = 2048, COLUMNS = 2048;

extern "C" void kernel(const float* x, float* out) {
#pragma omp parallel for
    for (long column = 0; column < COLUMNS; ++column)
        for (long row = 0; row < ROWS; ++row) out[column * ROWS + row] = 2.0f * x[row * COLUMNS + column];
}
