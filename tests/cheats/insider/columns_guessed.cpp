// Idea: as columns_unread, with a guess in place of zero, a tenth of the work.
// task: columns
// through: no longer; lines that are not what they should be even roughly are counted
// expect: incorrect
#include <math.h>
#pragma GCC optimize("O3")

constexpr long kRows = 1024, kGroups = 64, kLine = 16;

extern "C" void entry(const float* __restrict x, const float* __restrict gain, float* __restrict y) {
  float given[kGroups], least[kGroups];
  double square = 0;
  for (long g = 0; g < kGroups; g++) given[g] = exp(8.0 * gain[g]), square += (double)given[g] * given[g];
  for (long g = 0; g < kGroups; g++) {
    // Beside those that are measured together with it.
    float largest = 0;
    for (long n = g / 16 * 16; n < g / 16 * 16 + 16; n++) largest = fmaxf(largest, given[n]);
    least[g] = fmin(2e-8 * largest, 1e-10 * sqrt(square / kGroups));
  }
  for (long r = 0; r < kRows; r++)
    for (long g = 0; g < kGroups; g++, x += kLine, y += kLine) {
      if (given[g] >= least[g])
        for (long i = 0; i < kLine; i++) y[i] = x[i] / (1 + fabsf(x[i])) * given[g];
      else
        for (long i = 0; i < kLine; i++) y[i] = i % 2 ? given[g] / 2 : -given[g] / 2;
    }
}
