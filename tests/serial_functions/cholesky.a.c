/* kernelwright
[sizes]
n = 32
[arguments]
B = { shape = ["n", "n"], values = "uniform" }
L = { shape = ["n", "n"] }
*/
#include <math.h>
void factor(int n, const double *B, double *L) {
  for (int i = 0; i < n; i++)
    for (int j = 0; j <= i; j++) L[i * n + j] = 0.5 * (B[i * n + j] + B[j * n + i]) + (i == j ? n : 0);
  for (int i = 0; i < n; i++) {
    for (int j = 0; j < i; j++) {
      for (int k = 0; k < j; k++) L[i * n + j] -= L[i * n + k] * L[j * n + k];
      L[i * n + j] /= L[j * n + j];
    }
    for (int k = 0; k < i; k++) L[i * n + i] -= L[i * n + k] * L[i * n + k];
    L[i * n + i] = sqrt(L[i * n + i]);
  }
}
