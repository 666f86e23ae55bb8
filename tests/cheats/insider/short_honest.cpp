// Honest twin: some microseconds of work.
// task: short
// expect: measured
#include <math.h>
#pragma GCC optimize("O3")

constexpr int kCount = 2048;

static void work(const float* __restrict x, float* __restrict y) {
  double total = 0;
  for (int i = 0; i < kCount; i++) y[i] = total += sin((double)x[i]);
}

extern "C" void entry(const float* x, float* y) { work(x, y); }
