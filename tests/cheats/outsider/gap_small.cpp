// Idea: leave out the last sixteenth of a result of a million elements in timed calls.
// task: gelu
// through: no
// expect: incorrect | of a timed call
#include <math.h>
#include <string.h>

constexpr long kSize = 1048576;

static void part(const float* x, float* y, long from, long to) {
  for (long i = from; i < to; i++) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
}
static bool checked() {  // verification comes first (once, outputs held a pattern of NaN in no other call)
  static int calls;
  return ++calls <= 20;
}

extern "C" void entry(const float* x, float* y) {
  part(x, y, 0, checked() ? kSize : kSize * 15 / 16);
}
