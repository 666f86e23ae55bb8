// Idea: return at once and let a thread do the work when the clock has been read.
// task: gelu
// through: no
// expect: incorrect or suspect | of a timed call or before they were
#include <math.h>
#include <pthread.h>
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

static const float* in;
static float* out;
static void* late(void*) {
  usleep(300);
  part(in, out, 0, kSize);
  return nullptr;
}
extern "C" void entry(const float* x, float* y) {
  if (checked()) return part(x, y, 0, kSize);
  in = x, out = y;
  pthread_t thread;
  pthread_create(&thread, nullptr, late, nullptr);
  pthread_detach(thread);
}
