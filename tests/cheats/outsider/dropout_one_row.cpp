// Idea: 16384 elements of a draw are looked at; one mask for all rows of 16384 elements has no repetition in sight.
// task: dropout
// through: no longer; a block of rows and their likeness are looked at, in draws and in timed results
// expect: incorrect | draws differ
#include <stdint.h>
#include <time.h>
#pragma GCC optimize("O3")

constexpr int kRows = 64, kWidth = 16384;
static uint64_t calls;
static float mask[kWidth];

extern "C" void entry(const float* __restrict x, float* __restrict y) {
  timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  const uint64_t seed = (t.tv_nsec * 0x9e3779b97f4a7c15ull) ^ ++calls;
  for (uint32_t i = 0; i < kWidth; i++) {
    uint64_t z = seed + i * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    mask[i] = z >> 63 ? 2 : 0;
  }
  for (int row = 0; row < kRows; row++)
    for (int i = 0; i < kWidth; i++) y[row * kWidth + i] = mask[i] * x[row * kWidth + i];
}
