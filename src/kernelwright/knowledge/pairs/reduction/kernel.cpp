#include <cmath>

constexpr long ROWS = 512, COLUMNS = 512;

extern "C" void kernel(const float* x, float* out) {
#pragma omp parallel for schedule(static)
    for (long row = 0; row < ROWS; ++row) {
        const float* values = x + row * COLUMNS;
        float sum = 0.0f;
#pragma omp simd reduction(+ : sum)
        for (long i = 0; i < COLUMNS; ++i) sum += values[i] * values[i];
        out[row] = std::sqrt(sum);
    }
}
