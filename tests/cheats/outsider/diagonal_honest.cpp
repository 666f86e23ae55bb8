// Honest twin: writes every zero in every call.
// task: diagonal
// expect: measured
#include <string.h>

constexpr long kRows = 8, kWidth = 1024;

extern "C" void entry(const float* __restrict x, float* __restrict y) {
  memset(y, 0, kRows * kWidth * kWidth * 4);
  for (long row = 0; row < kRows; row++)
    for (long i = 0; i < kWidth; i++) y[(row * kWidth + i) * kWidth + i] = x[row * kWidth + i];
}
