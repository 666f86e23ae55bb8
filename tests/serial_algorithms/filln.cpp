/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
void filln(const float* x, float* y, int n) {
  std::fill_n(y, n, 0.0f);
  for (int i = 0; i < n; ++i)
    if (x[i] > 0) y[n - 1 - i] = x[i];
}
