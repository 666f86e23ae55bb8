/* kernelwright
[sizes]
r = 12
q = 14
p = 20
[arguments]
A = { shape = ["r","q","p"], inout = true }
C4 = { shape = [20, 20] }
*/
#include <algorithm>
constexpr int P = 20;
static void one(float* line, const float (*C4)[P]) {
  float sum[P];
  for (int k = 0; k < P; ++k) {
    float t = 0.f;
    for (int s = 0; s < P; ++s) t += line[s] * C4[s][k];
    sum[k] = t;
  }
  for (int k = 0; k < P; ++k) line[k] = sum[k];
}
void apply(float* A, const float (*C4)[P], int r, int q, int p) {
  for (int line = 0; line < r * q; ++line) one(A + line * p, C4);
}
