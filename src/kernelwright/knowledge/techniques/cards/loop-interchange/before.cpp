constexpr long ROWS = 192, COLUMNS = 256, INNER = 224;

extern "C" void kernel(const float* a, const float* b, float* out) {
    for (long row = 0; row < ROWS; ++row)
        for (long column = 0; column < COLUMNS; ++column) {
            float sum = 0.0f;
            for (long k = 0; k < INNER; ++k) sum += a[row * INNER + k] * b[k * COLUMNS + column];
            out[row * COLUMNS + column] = sum;
        }
}
