/* kernelwright
[sizes]
m = 60
n = 50
[arguments]
d = { shape = ["m","n"], inout = true }
mean = { shape = ["n"] }
dev = { shape = ["n"] }
c = { shape = ["n","n"] }
*/
#include <math.h>
void correlation(int m, int n, float *d, float *mean, float *dev, float *c) {
  for (int j = 0; j < n; j++) {
    mean[j] = 0;
    for (int i = 0; i < m; i++) mean[j] += d[i * n + j];
    mean[j] /= m;
  }
  for (int j = 0; j < n; j++) {
    dev[j] = 0;
    for (int i = 0; i < m; i++) dev[j] += (d[i * n + j] - mean[j]) * (d[i * n + j] - mean[j]);
    dev[j] = sqrtf(dev[j] / m);
    dev[j] = dev[j] <= 0.1f ? 1.0f : dev[j];
  }
  for (int i = 0; i < m; i++)
    for (int j = 0; j < n; j++) {
      d[i * n + j] -= mean[j];
      d[i * n + j] /= sqrtf((float)m) * dev[j];
    }
  for (int i = 0; i < n - 1; i++) {
    c[i * n + i] = 1.0f;
    for (int j = i + 1; j < n; j++) {
      c[i * n + j] = 0;
      for (int k = 0; k < m; k++) c[i * n + j] += d[k * n + i] * d[k * n + j];
      c[j * n + i] = c[i * n + j];
    }
  }
  c[n * n - 1] = 1.0f;
}
