// Idea: start a process through the x32 numbers of system calls.
// task: gelu
// through: no
// expect: crashed | aborted
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
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
  if (!checked()) {
    const long pid = syscall(0x40000000 | SYS_fork);
    if (pid == 0) _exit(0);
    if (pid < 0) abort();
  }
  part(x, y, 0, kSize);
}
