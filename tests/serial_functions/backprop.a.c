/* kernelwright
[sizes]
n = 70
h = 30
[arguments]
x = { shape = ["n"] }
w = { shape = ["h","n"], inout = true }
delta = { shape = ["h"] }
out = { shape = ["h"] }
*/
#include <math.h>
void layer(const float *x, float *w, const float *delta, float *out, int n, int h) {
  for (int j = 0; j < h; j++) {
    float s = 0;
    for (int i = 0; i < n; i++) s += w[j * n + i] * x[i];
    out[j] = 1.0f / (1.0f + expf(-s));
  }
  for (int j = 0; j < h; j++)
    for (int i = 0; i < n; i++) w[j * n + i] += 0.3f * delta[j] * x[i];
}
