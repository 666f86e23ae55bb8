// Honest twin: every row.
// task: row_gains
// expect: measured
#include <math.h>
#pragma GCC optimize("O3,fast-math")

constexpr long kRows = 1024, kWidth = 1024;

static float level(const float* __restrict x, long step) {
  float total = 0;
  for (long i = 0; i < kWidth; i += 64 * step)
    for (long j = i; j < i + 64; j++) total += fabsf(x[j]) / (1 + fabsf(x[j]));
  return total * step;
}

extern "C" void entry(const float* __restrict x, const float* __restrict gain, float* __restrict y) {
  for (long r = 0; r < kRows; r++) y[r] = level(x + r * kWidth, 1) * exp(8.0 * gain[r]);
}
