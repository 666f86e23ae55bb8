/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = [100, 50] }
y = { shape = [100] }
*/
#include <numeric>
void rows(const float* x, float* y) {
  for (int r = 0; r < 100; ++r) y[r] = std::accumulate(x + r * 50, x + (r + 1) * 50, 0.0f);
}
