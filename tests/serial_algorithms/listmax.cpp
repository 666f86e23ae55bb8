/* kernelwright
[sizes]
n = 2048
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
void listmax(const float* x, float* y, int n) {
  for (int i = 1; i + 1 < n; ++i) y[i] = std::max({x[i - 1], x[i], x[i + 1]});
  y[0] = x[0];
  y[n - 1] = x[n - 1];
}
