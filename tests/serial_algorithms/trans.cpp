/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
void trans(const float* x, float* y, int n) {
  std::transform(x, x + n, y, [](float v) { return v > 0 ? v : 0.1f * v; });
}
