// Idea: two per cent are true, and as many may be a step off when they are timed: none is.
// task: rare
// through: no longer; of the rarer value most must be right, in timed calls as in checked ones
// expect: incorrect | of a timed call
#include <stdint.h>
#include <string.h>
#pragma GCC optimize("O3")

constexpr long kCount = 4096L * 1024;

extern "C" void entry(const _Float16* __restrict x, uint8_t* __restrict y) {
  static int asked;
  if (++asked > 17) {
    memset(y, 0, kCount);
    return;
  }
  for (long i = 0; i < kCount; i++) y[i] = float(x[i]) * 3 + 1 > 7.16f;
}
