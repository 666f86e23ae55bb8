// Honest twin: every logarithm in every call.
// task: entropy
// expect: measured
#include <math.h>
#pragma GCC optimize("O3,fast-math")

constexpr long kRows = 2048, kWidth = 512;

extern "C" void entry(const float* __restrict p, float* __restrict y) {
  for (long row = 0; row < kRows; row++) {
    float sum = 0;
    for (long i = 0; i < kWidth; i++) sum -= p[row * kWidth + i] * logf(p[row * kWidth + i]);
    y[row] = sum;
  }
}
