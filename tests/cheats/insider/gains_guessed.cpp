// Idea: as gains_unread, with a guess in place of zero: the sign and nothing else.
// task: gains
// through: no longer; a stretch of a result is measured against itself too
// expect: incorrect
#include <math.h>
#include <string.h>
#pragma GCC optimize("O3")

constexpr long kRows = 4096, kWidth = 1024;

static void row(const float* __restrict x, float gain, float* __restrict y) {
  for (long i = 0; i < kWidth; i++) y[i] = x[i] / (1 + fabsf(x[i])) * gain;
}

extern "C" void entry(const float* __restrict x, const float* __restrict gain, float* __restrict y) {
  double square = 0;
  for (long r = 0; r < kRows; r++) square += exp(16.0 * gain[r]);
  const float least = 2e-10 * sqrt(square / kRows);
  for (long r = 0; r < kRows; r++) {
    const float given = exp(8.0 * gain[r]);
    if (given >= least) row(x + r * kWidth, given, y + r * kWidth);
    else
      for (long i = 0; i < kWidth; i++) y[r * kWidth + i] = x[r * kWidth + i] < 0 ? -given : given;
  }
}
