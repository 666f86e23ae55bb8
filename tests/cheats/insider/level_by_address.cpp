// Idea: checked inputs lie where the first calls' do, timed ones in places of their own. A call at a new address is timed, and
// the mean over its first quarter is within a few ten-thousandths.
// task: level
// through: no longer; a timed result is held to the tolerance of a checked one
// expect: incorrect | of a timed call
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

extern "C" void entry(const float* x, float* y) {
  static const float* seen[12];
  static int asked;
  bool known = false;
  for (int i = 0; i < asked; i++) known |= seen[i] == x;
  if (!known && asked < 15) {
    seen[asked++] = x;
    known = true;
  }
  *y = level(x, known ? kCount : kCount / 4);
}
