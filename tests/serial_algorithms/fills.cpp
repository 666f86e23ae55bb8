/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
void fills(const float* x, float* y, int n) {
  std::fill(y, y + n, 1.5f);
  for (int i = 1; i < n; ++i) y[i] += x[i] * x[i - 1];
}
