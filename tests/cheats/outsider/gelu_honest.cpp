// Honest twin: every element in every call.
// task: gelu
// expect: measured
#include <math.h>

extern "C" void entry(const float* __restrict x, float* __restrict y) {
  for (long i = 0; i < 1048576; i++) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
}
