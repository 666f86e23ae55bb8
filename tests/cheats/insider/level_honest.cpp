// Honest twin: every element, in blocks.
// task: level
// expect: measured
#include <math.h>
#pragma GCC optimize("O3,fast-math")

constexpr long kCount = 2048L * 2048, kBlock = 4096;

static float level(const float* x, long count) {
  double total = 0;
  for (long block = 0; block < count; block += kBlock) {
    float part = 0;
    for (long i = block; i < block + kBlock; i++) part += fabsf(x[i]);
    total += part;
  }
  return total / count;
}

extern "C" void entry(const float* x, float* y) { *y = level(x, kCount); }
