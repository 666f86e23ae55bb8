/* kernelwright
[sizes]
n = 32
[arguments]
B = { shape = ["n", "n"], values = "uniform" }
L = { shape = ["n", "n"] }
*/
#include <cmath>
void factor(int n, const double *B, double *L) {
  auto at = [&](int i, int j) -> double & { return L[i * n + j]; };
  for (int i = 0; i < n; ++i)
    for (int j = 0; j <= i; ++j) at(i, j) = 0.5 * (B[i * n + j] + B[j * n + i]) + (i == j ? n : 0);
  for (int j = 0; j < n; ++j) {
    at(j, j) = std::sqrt(at(j, j));
    for (int i = j + 1; i < n; ++i) at(i, j) /= at(j, j);
    for (int k = j + 1; k < n; ++k)
      for (int i = k; i < n; ++i) at(i, k) -= at(i, j) * at(k, j);
  }
}
