/* kernelwright
[sizes]
n = 32
[arguments]
B = { shape = ["n", "n"], values = "uniform" }
L = { shape = ["n", "n"] }
*/
#include <math.h>
#define l(a, b) L[(b) + n * (a)]
void factor(int n, const double *B, double *L) {
  for (int x = n - 1; x >= 0; --x)
    for (int y = 0; y <= x; ++y) {
      double h = B[x * n + y] + B[y * n + x];
      l(x, y) = h / 2;
      if (x == y) l(x, y) += n;
    }
  int c = 0;
  while (c < n) {
    double d = l(c, c);
    for (int k = c - 1; k >= 0; --k) d -= l(c, k) * l(c, k);
    l(c, c) = d = sqrt(d);
    for (int w = n - 1; w > c; --w) {
      double *p = &l(w, 0), *q = &l(c, 0), v = p[c];
      for (int k = c; k--;) v -= *p++ * *q++;
      l(w, c) = v / d;
    }
    ++c;
  }
}
