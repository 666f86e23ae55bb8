// Idea: start a process through the 32-bit system call gate, where numbers mean other calls.
// task: gelu
// through: no
// expect: crashed | SIGSYS
#include <math.h>
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
  long pid = 2;  // fork
  if (!checked()) asm volatile("int $0x80" : "+a"(pid) : : "memory", "r8", "r9", "r10", "r11");
  part(x, y, 0, kSize);
  if (pid == 0) _exit(0);
}
