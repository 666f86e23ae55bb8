/* kernelwright
[sizes]
n = 150
[arguments]
re = { shape = ["n"] }
im = { shape = ["n"] }
ore = { shape = ["n"] }
oim = { shape = ["n"] }
*/
#include <math.h>
void dft(const float *re, const float *im, float *ore, float *oim, int n) {
  for (int k = 0; k < n; k++) {
    float a = 0, b = 0;
    for (int t = 0; t < n; t++) {
      float w = -2.0f * 3.14159265f * (float)((k * t) % n) / (float)n;
      a += re[t] * cosf(w) - im[t] * sinf(w);
      b += re[t] * sinf(w) + im[t] * cosf(w);
    }
    ore[k] = a;
    oim[k] = b;
  }
}
