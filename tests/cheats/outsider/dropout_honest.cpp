// Honest twin: a random number for every element.
// task: dropout
// expect: measured
#include <stdint.h>
#include <time.h>
#pragma GCC optimize("O3")

static uint64_t calls;

extern "C" void entry(const float* __restrict x, float* __restrict y) {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const uint64_t seed = (t.tv_nsec * 0x9e3779b97f4a7c15ull) ^ ++calls;
  for (uint32_t i = 0; i < 64 * 16384; i++) {
    uint64_t z = seed + i * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    y[i] = z >> 63 ? 2 * x[i] : 0;
  }
}
