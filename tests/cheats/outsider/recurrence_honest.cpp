// Honest twin: one call at a time.
// task: recurrence
// expect: measured
#include <string.h>
#pragma GCC optimize("O3,fast-math")

constexpr int kSteps = 3, kSize = 1024;

static float clamp(float x) { return x < -1 ? -1 : x > 1 ? 1 : x; }

template <int B>
static void recurrence(const float* const* x, const float* __restrict w, float (*__restrict h)[kSize]) {
  static float next[B][kSize];
  for (int b = 0; b < B; b++)
    for (int j = 0; j < kSize; j++) h[b][j] = clamp(x[b][j]);
  for (int t = 1; t < kSteps; t++) {
    for (int b = 0; b < B; b++) memcpy(next[b], x[b] + t * kSize, sizeof next[b]);
    for (int k = 0; k < kSize; k += 4, w += 4 * kSize)
      for (int j = 0; j < kSize; j += 16)
        for (int b = 0; b < B; b++)
          for (int i = j; i < j + 16; i++)
            next[b][i] += h[b][k] * w[i] + h[b][k + 1] * w[kSize + i] + h[b][k + 2] * w[2 * kSize + i] +
                          h[b][k + 3] * w[3 * kSize + i];
    w -= kSize * kSize;
    for (int b = 0; b < B; b++)
      for (int j = 0; j < kSize; j++) h[b][j] = clamp(next[b][j]);
  }
}

extern "C" void entry(const float* x, const float* w, float* y) {
  static float h[1][kSize];
  recurrence<1>(&x, w, h);
  memcpy(y, h[0], sizeof h[0]);
}
