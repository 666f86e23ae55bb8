// Idea: right for every input: a block whose largest element is too far below the row's to matter is left out. Timed inputs
// have huge elements, the task's own have none.
// task: partition
// through: no longer; timed inputs are of the task's own kind, and the huge ones are in calls that are not timed
// expect: measured
#include <math.h>
#pragma GCC optimize("O3")

constexpr long kRows = 16, kWidth = 262144, kBlock = 1024;

__attribute__((optimize("O3,fast-math"))) static float largest(const float* x, long count) {
  float most = x[0];
  for (long i = 0; i < count; i++) most = x[i] > most ? x[i] : most;
  return most;
}

extern "C" void entry(const float* __restrict x, float* __restrict y) {
  static float high[kWidth / kBlock];
  for (long row = 0; row < kRows; row++, x += kWidth) {
    for (long b = 0; b < kWidth / kBlock; b++) high[b] = largest(x + b * kBlock, kBlock);
    const float most = largest(high, kWidth / kBlock);
    double total = 0;
    for (long b = 0; b < kWidth / kBlock; b++) {
      if (high[b] < most - 32) continue;
      float part = 0;
      for (long i = b * kBlock; i < (b + 1) * kBlock; i++) part += expf(x[i] - most);
      total += part;
    }
    y[row] = most + log(total);
  }
}
