/* kernelwright
[sizes]
n = 3000
k = 7
[arguments]
col = { shape = ["n", "k"], values = "index", bound = "n" }
val = { shape = ["n", "k"] }
diag = { shape = ["n"], values = "positive" }
b = { shape = ["n"] }
x = { shape = ["n"] }
y = { shape = ["n"] }
resid = { shape = [1] }
*/
#include <math.h>
void ell_jacobi(const int *col, const float *val, const float *diag, const float *b, const float *x, float *y, float *resid, int n, int k) {
  double r2 = 0;
  for (int i = 0; i < n; i++) {
    float s = b[i];
    for (int j = 0; j < k; j++) {
      int c = col[i * k + j];
      if (c == i) continue;
      s -= val[i * k + j] * x[c];
    }
    y[i] = s / diag[i];
    double d = y[i] - x[i];
    r2 += d * d;
  }
  resid[0] = (float)sqrt(r2);
}
