// Honest twin: copies.
// task: reorder
// expect: measured
#include <string.h>

constexpr long kHalf = 128 * 16384;

extern "C" void entry(const float* x, float* y) {
  memcpy(y, x + kHalf, kHalf * 4);
  memcpy(y + kHalf, x, kHalf * 4);
}
