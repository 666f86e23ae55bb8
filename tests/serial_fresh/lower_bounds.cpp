/* kernelwright
[sizes]
n = 4000
m = 500
[arguments]
step = { shape = ["m"], values = "positive" }
q = { shape = ["n"], values = "uniform" }
sorted = { shape = ["m"] }
pos = { shape = ["n"] }
*/
#include <algorithm>
void lower_bounds(const float* step, const float* q, float* sorted, int* pos, int n, int m) {
  sorted[0] = 0;
  for (int i = 1; i < m; ++i) sorted[i] = sorted[i - 1] + step[i];
  for (int j = 0; j < n; ++j) pos[j] = int(std::lower_bound(sorted, sorted + m, q[j] * m) - sorted);
}
