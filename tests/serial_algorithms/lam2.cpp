/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
#include <cmath>
#include <functional>
void lam2(const float* x, float* y, int n) {
  const auto soft = [](float v) { return v / (1 + std::fabs(v)); };
  std::transform(x, x + n, y, soft);
  std::transform(y, y + n, x, y, std::plus<float>{});
}
