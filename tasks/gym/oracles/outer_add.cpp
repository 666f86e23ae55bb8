// A row at a time: its factor is one number, the vector stays in the cache.
#include <cstdint>

extern "C" void outer_add(const float* a, const float* b, const float* c, float* out) {
  constexpr std::int64_t ROWS = AXIS_ROWS, COLUMNS = AXIS_COLUMNS;
#pragma omp parallel for schedule(static)
  for (std::int64_t i = 0; i < ROWS; ++i)
#pragma omp simd
    for (std::int64_t j = 0; j < COLUMNS; ++j) out[i * COLUMNS + j] = a[i] * b[j] + c[i * COLUMNS + j];
}
