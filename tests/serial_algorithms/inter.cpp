/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
#include <functional>
void inter(const float* x, float* y, int n) {
  std::transform(x + 1, x + n, x, y + 1, std::minus<>{});
  y[0] = 0;
}
