/* kernelwright
[sizes]
n = 3000
m = 40
[arguments]
x = { shape = ["m", "n"] }
y = { shape = ["m"] }
*/
#include <algorithm>
void ampers(const float* x, float* y, int n, int m) {
  for (int i = 0; i < m; ++i) y[i] = *std::min_element(&x[i * n], &x[i * n + n]);
}
