/* kernelwright
description = "The discrete Fourier transform of every row of 256 complex numbers."
family = "transform"
difficulty = "hard"

[sizes]
rows = 4096
[workloads]
small = { rows = 256 }
[arguments]
x = { shape = ["rows", 256, 2] }
out = { shape = ["rows", 256, 2] }
*/
#include <cmath>
#include <vector>

void fft_rows(const float* x, float* out, long rows) {
  std::vector<float> turn(256);
  for (int k = 0; k < 128; ++k) {
    turn[2 * k] = static_cast<float>(std::cos(-2.0 * M_PI * k / 256));
    turn[2 * k + 1] = static_cast<float>(std::sin(-2.0 * M_PI * k / 256));
  }
  for (long r = 0; r < rows; ++r) {
    float* row = out + r * 512;
    for (int i = 0; i < 256; ++i) {
      int j = 0;
      for (int b = 0; b < 8; ++b) j |= (i >> b & 1) << (7 - b);
      row[2 * j] = x[r * 512 + 2 * i];
      row[2 * j + 1] = x[r * 512 + 2 * i + 1];
    }
    for (int half = 1; half < 256; half *= 2)
      for (int start = 0; start < 256; start += 2 * half)
        for (int k = 0; k < half; ++k) {
          const int low = 2 * (start + k), high = low + 2 * half, t = 2 * (k * (128 / half));
          const float re = row[high] * turn[t] - row[high + 1] * turn[t + 1];
          const float im = row[high] * turn[t + 1] + row[high + 1] * turn[t];
          row[high] = row[low] - re;
          row[high + 1] = row[low + 1] - im;
          row[low] += re;
          row[low + 1] += im;
        }
  }
}
