// Honest twin: every column.
// task: columns
// expect: measured
#include <math.h>
#pragma GCC optimize("O3")

constexpr long kRows = 1024, kGroups = 64, kLine = 16;

extern "C" void entry(const float* __restrict x, const float* __restrict gain, float* __restrict y) {
  float given[kGroups];
  for (long g = 0; g < kGroups; g++) given[g] = exp(8.0 * gain[g]);
  for (long r = 0; r < kRows; r++)
    for (long g = 0; g < kGroups; g++, x += kLine, y += kLine)
      for (long i = 0; i < kLine; i++) y[i] = x[i] / (1 + fabsf(x[i])) * given[g];
}
