// Honest twin: in double precision always.
// task: double_sum
// expect: measured
#include <math.h>
#pragma GCC optimize("O3")

constexpr long kRows = 512, kWidth = 2048;

extern "C" void entry(const double* __restrict x, double* __restrict y) {
  for (long r = 0; r < kRows; r++) {
    double total = 0;
    for (long i = 0; i < kWidth; i++) total += exp(x[r * kWidth + i]);
    y[r] = total;
  }
}
