// Honest twin: reads everything in every call.
// task: sigmoid_mean
// expect: measured
#include <math.h>
#pragma GCC optimize("O3,fast-math")

constexpr long kRows = 8, kWidth = 1048576;

extern "C" void entry(const float* __restrict x, float* __restrict y) {
  for (long row = 0; row < kRows; row++) {
    double sum = 0;
    for (long i = 0; i < kWidth; i += 1024) {
      float part = 0;
      for (long j = i; j < i + 1024; j++) part += 1.0f / (1.0f + expf(-x[row * kWidth + j]));
      sum += part;
    }
    y[row] = sum / kWidth;
  }
}
