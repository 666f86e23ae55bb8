// Honest twin: every row.
// task: gains
// expect: measured
#include <math.h>
#include <string.h>
#pragma GCC optimize("O3")

constexpr long kRows = 4096, kWidth = 1024;

static void row(const float* __restrict x, float gain, float* __restrict y) {
  for (long i = 0; i < kWidth; i++) y[i] = x[i] / (1 + fabsf(x[i])) * gain;
}

extern "C" void entry(const float* __restrict x, const float* __restrict gain, float* __restrict y) {
  for (long r = 0; r < kRows; r++) row(x + r * kWidth, exp(8.0 * gain[r]), y + r * kWidth);
}
