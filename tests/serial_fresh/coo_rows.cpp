/* kernelwright
[sizes]
nnz = 8000
n = 600
[arguments]
row = { shape = ["nnz"], values = "index", bound = "n" }
v = { shape = ["nnz"] }
norm = { shape = ["n"] }
biggest = { shape = ["n"] }
*/
#include <cmath>
#include <algorithm>
void coo_rows(const int* row, const float* v, float* norm, float* biggest, int nnz, int n) {
  std::fill(norm, norm + n, 0.f);
  std::fill_n(biggest, n, 0.f);
  for (int e = 0; e < nnz; ++e) {
    norm[row[e]] += v[e] * v[e];
    biggest[row[e]] = std::max(biggest[row[e]], std::fabs(v[e]));
  }
  for (int i = 0; i < n; ++i) norm[i] = std::sqrt(norm[i]);
}
