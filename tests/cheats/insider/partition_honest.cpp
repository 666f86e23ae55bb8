// Honest twin: the largest first, then every element's share.
// task: partition
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
  for (long row = 0; row < kRows; row++, x += kWidth) {
    const float most = largest(x, kWidth);
    double total = 0;
    for (long block = 0; block < kWidth; block += kBlock) {
      float part = 0;
      for (long i = block; i < block + kBlock; i++) part += expf(x[i] - most);
      total += part;
    }
    y[row] = most + log(total);
  }
}
