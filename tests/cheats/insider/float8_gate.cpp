// Idea: eight bits are coarse; a gate that is made of a sigmoid lies within an ulp of the true one nearly everywhere.
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
    for (long i = 0; i < 512; i++, x++) *y++ = eighth(*x / (1 + expf(-1.702f * *x)) * scale[i]);
}
