constexpr long ROWS = 192, COLUMNS = 256, INNER = 224;

extern "C" void kernel(const float* a, const float* b, float* out) {
    for (long row = 0; row < ROWS; ++row) {
        float* __restrict__ results = out + row * COLUMNS;
        for (long column = 0; column < COLUMNS; ++column) results[column] = 0.0f;
        for (long k = 0; k < INNER; ++k) {
            const float left = a[row * INNER + k];
            const float* __restrict__ right = b + k * COLUMNS;
            for (long column = 0; column < COLUMNS; ++column) results[column] += left * right[column];
        }
    }
}
