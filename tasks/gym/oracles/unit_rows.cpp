// A row at a time, which stays in the first cache between its two passes; sixteen sums side by side make vectors.
#include <algorithm>
#include <cmath>
#include <cstdint>

extern "C" void unit_rows(const float* x, float* out) {
  constexpr std::int64_t ROWS = AXIS_ROWS, COLUMNS = AXIS_COLUMNS, WIDE = COLUMNS / 16 * 16;
#pragma omp parallel for schedule(static)
  for (std::int64_t row = 0; row < ROWS; ++row) {
    const float* from = x + row * COLUMNS;
    float sums[16] = {};
    for (std::int64_t j = 0; j < WIDE; j += 16)
      for (int lane = 0; lane < 16; ++lane) sums[lane] += from[j + lane] * from[j + lane];
    float total = 0.0f;
    for (int lane = 0; lane < 16; ++lane) total += sums[lane];
    for (std::int64_t j = WIDE; j < COLUMNS; ++j) total += from[j] * from[j];
    const float length = std::max(std::sqrt(total), 1e-12f);
    for (std::int64_t j = 0; j < COLUMNS; ++j) out[row * COLUMNS + j] = from[j] / length;
  }
}
