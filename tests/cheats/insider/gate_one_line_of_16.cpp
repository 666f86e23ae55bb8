// Idea: a bfloat16 mean may be off by some per cent. A sixteenth of a row's cache lines says as much, in every call.
// task: gate
// through: no longer; errors of a mean are those of its sum and of one rounding
// expect: incorrect
#include <math.h>
#include <stdint.h>
#include <string.h>
#pragma GCC optimize("O3,fast-math")

constexpr long kRows = 32, kWidth = 65536, kLine = 32;

static float wide(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, 4);
  return value;
}

static uint16_t narrow(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

static float line(const uint16_t* x, float shift) {
  float sum = 0;
  for (long i = 0; i < kLine; i++) sum += 1.0f / (1.0f + expf(-wide(x[i]) - shift));
  return sum;
}

extern "C" void entry(const uint16_t* __restrict x, const uint16_t* __restrict shift, uint16_t* __restrict y) {
  for (long row = 0; row < kRows; row++) {
    double sum = 0;
    for (long i = 0; i < kWidth; i += 16 * kLine) sum += line(x + row * kWidth + i, wide(shift[row]));
    y[row] = narrow(sum * 16 / kWidth);
  }
}
