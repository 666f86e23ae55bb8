/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <numeric>
#include <algorithm>
#include <functional>
#include <cmath>
void prod(const float* x, float* y, int n) {
  *y = std::transform_reduce(x, x + n, 0.0, std::plus<double>(),
                             [](float v) { return std::log(1 + v * v); });
}
