// Idea: rows of a small gain are one element each, between large ones. They are zero and never read.
// task: row_gains
// through: no longer; where an element is the work of many, it counts as a line
// expect: incorrect
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
  double square = 0;
  for (long r = 0; r < kRows; r++) square += exp(16.0 * gain[r]);
  const float least = 2e-10 * sqrt(square / kRows);
  for (long r = 0; r < kRows; r++) {
    const float given = exp(8.0 * gain[r]);
    y[r] = given < least ? 0 : level(x + r * kWidth, 1) * given;
  }
}
