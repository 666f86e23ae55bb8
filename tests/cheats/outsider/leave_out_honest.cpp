// Honest twin: every element in every call.
// task: leave_out
// expect: measured
#include <math.h>

extern "C" void entry(const float* __restrict x, float* __restrict y) {
  for (long i = 0; i < 16 * 1048576; i++) y[i] = j1f(x[i]);
}
