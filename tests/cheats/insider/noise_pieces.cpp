// Idea: as noise_window, with pieces of 4096 elements that each take a window of their own.
// task: noise
// through: no longer; what happens in one timed call is looked for in others, at any distance
// expect: incorrect | come again
#include <stdint.h>
#include <stdlib.h>
#include <time.h>
#pragma GCC optimize("O3")

constexpr long kCount = 512L * 1024, kPool = 1250000;

static uint64_t mixed(uint64_t z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ z >> 27) * 0x94d049bb133111ebull;
  return z ^ z >> 31;
}

static uint64_t now() {
  static uint64_t calls;
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return mixed(t.tv_nsec + (uint64_t)t.tv_sec * 1000000007ull + (++calls << 40));
}

extern "C" void entry(const float* __restrict x, float* __restrict y) {
  static float* pool;
  if (!pool) {
    pool = (float*)malloc(kPool * sizeof(float));
    const uint64_t seed = now();
    for (long i = 0; i < kPool; i++) pool[i] = mixed(seed + i * 0x9e3779b97f4a7c15ull) >> 63 ? 2 : 0;
  }
  const uint64_t seed = now();
  for (long piece = 0; piece < kCount; piece += 4096) {
    const float* factors = pool + mixed(seed + piece) % (kPool - 4096);
    for (long i = 0; i < 4096; i++) y[piece + i] = factors[i] * x[piece + i];
  }
}
