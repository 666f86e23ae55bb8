// Idea: stop oneself before the work, so that the clock sees all threads stopped. Nothing happens: it is as slow as
// its honest twin, since the first process of a namespace ignores its own stop.
// task: gelu
// through: no, nothing is gained
// expect: measured
#include <math.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

constexpr long kSize = 1048576;

static void part(const float* x, float* y, long from, long to) {
  for (long i = from; i < to; i++) y[i] = 0.5f * x[i] * (1 + erff(x[i] * 0.70710678f));
}
static bool checked() {  // verification comes first (once, outputs held a pattern of NaN in no other call)
  static int calls;
  return ++calls <= 20;
}

extern "C" void entry(const float* x, float* y) {
  if (!checked()) kill(getpid(), SIGSTOP);
  part(x, y, 0, kSize);
}
