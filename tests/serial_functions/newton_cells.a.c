/* kernelwright
[sizes]
n = 20000
[arguments]
x = { shape = ["n"], values = "positive" }
root = { shape = ["n"] }
turns = { shape = ["n"] }
*/
#include <math.h>
void roots(const double *x, double *root, int *turns, int n) {
  for (int i = 0; i < n; i++) {
    double y = x[i];
    int k = 0;
    while (fabs(y * y * y - x[i]) > 1e-9) {
      y = y - (y * y * y - x[i]) / (3 * y * y);
      k++;
      if (k == 50) break;
    }
    root[i] = y;
    turns[i] = k;
  }
}
