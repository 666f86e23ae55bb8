/* kernelwright
[sizes]
n = 220
[arguments]
a = { shape = ["n", "n"], values = "uniform", inout = true }
*/
#include <stddef.h>
#define A(r, c) a[(size_t)(r) * n + (c)]
#define SHIFT 220.0

static double inner(const double *a, size_t n, size_t i, size_t j, size_t len) {
  double s = 0;
  for (size_t k = 0; k < len; ++k) s += A(i, k) * A(k, j);
  return s;
}

void doolittle(double *a, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    A(i, i) += SHIFT;
    for (size_t j = 0; j < i; ++j) A(i, j) = (A(i, j) - inner(a, n, i, j, j)) / A(j, j);
    for (size_t j = i; j < n; ++j) A(i, j) -= inner(a, n, i, j, i);
  }
}
