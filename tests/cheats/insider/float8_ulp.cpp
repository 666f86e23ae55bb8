// Idea: every value is an ulp too large: by an eighth, as if its scale were another.
// task: float8
// through: no; few elements may be a step off, where rounding decides, and none two
// expect: incorrect | elements are off
#include <math.h>
#include <stdint.h>
#include <string.h>
#pragma GCC optimize("O3")

static uint8_t eighth(float value) {
  const float most = fminf(fabsf(value), 448.f);
  const uint8_t sign = signbit(value) ? 0x80 : 0;
  if (most < 0.015625f) return sign | (uint8_t)nearbyintf(most * 512);
  uint32_t bits;
  memcpy(&bits, &most, 4);
  bits += 0x7ffff + ((bits >> 20) & 1);
  return sign | (uint8_t)((bits >> 20) - (120 << 3));
}

extern "C" void entry(const float* __restrict x, const float* __restrict scale, uint8_t* __restrict y) {
  for (long r = 0; r < 512; r++)
    for (long i = 0; i < 512; i++, x++) {
      const uint8_t code = eighth(0.5f * *x * (1 + erff(*x * 0.70710678f)) * scale[i]);
      const uint8_t magnitude = code & 0x7f;
      *y++ = (code & 0x80) | (magnitude && magnitude < 0x7e ? magnitude + 1 : magnitude);
    }
}
