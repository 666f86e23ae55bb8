// Idea: a process of its own that shares the memory (clone with CLONE_VM, no thread of ours) is not stopped with us
// and works on while the clock stands still.
// task: gelu
// through: no
// expect: crashed | aborted
#include <math.h>
#include <sched.h>
#include <stdlib.h>
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

static struct Job { const float* x; float* y; } job;
static char stack[1 << 16] __attribute__((aligned(16)));
static int late(void*) {
  part(job.x, job.y, 0, kSize);
  _exit(0);
}
extern "C" void entry(const float* x, float* y) {
  if (checked()) return part(x, y, 0, kSize);
  job = {x, y};
  if (clone(late, stack + sizeof stack, CLONE_VM | CLONE_FILES | CLONE_FS, nullptr) < 0) abort();
}
