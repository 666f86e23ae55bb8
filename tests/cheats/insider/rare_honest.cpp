// Honest twin: every element.
// task: rare
// expect: measured
#include <stdint.h>
#include <string.h>
#pragma GCC optimize("O3")

constexpr long kCount = 4096L * 1024;

extern "C" void entry(const _Float16* __restrict x, uint8_t* __restrict y) {
  for (long i = 0; i < kCount; i++) y[i] = float(x[i]) * 3 + 1 > 7.16f;
}
