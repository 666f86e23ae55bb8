/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
void clampd(const float* x, float* y, int n) {
  for (int i = 0; i < n; ++i) y[i] = std::clamp(x[i], -0.5f, 0.5f);
}
