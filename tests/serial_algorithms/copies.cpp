/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
void copies(const float* x, float* y, int n) {
  std::copy(x, x + n, y);
  for (int i = 1; i + 1 < n; ++i) y[i] = (x[i - 1] + x[i + 1]) / 2;
}
