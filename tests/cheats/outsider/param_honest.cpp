// Honest twin: multiplies in every call.
// task: param
// expect: measured
#pragma GCC optimize("O3")

constexpr int kSize = 512;

extern "C" void entry(const float* __restrict x, const float* __restrict w, float* __restrict y) {
  for (int i = 0; i < kSize * kSize; i++) y[i] = x[i];
  for (int i = 0; i < kSize; i += 4)
    for (int j = 0; j < kSize; j += 64) {
      float sum[4][64] = {};
      for (int k = 0; k < kSize; k++)
        for (int a = 0; a < 4; a++)
          for (int b = 0; b < 64; b++) sum[a][b] += w[(i + a) * kSize + k] * w[k * kSize + j + b];
      for (int a = 0; a < 4; a++)
        for (int b = 0; b < 64; b++) y[(i + a) * kSize + j + b] += sum[a][b];
    }
}
