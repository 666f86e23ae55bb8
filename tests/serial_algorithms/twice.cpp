/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [2] }
*/
#include <algorithm>
#include <cmath>
#include <numeric>
static float spread(const float* x, int n) {
  const float mean = std::accumulate(x, x + n, 0.0f) / n;
  return std::sqrt(std::accumulate(x, x + n, 0.0f,
                                   [mean](float s, float v) { return s + (v - mean) * (v - mean); }) / n);
}
void twice(const float* x, float* y, int n) {
  y[0] = std::accumulate(x, x + n, 0.0f) * spread(x, n);
  y[1] = *std::max_element(x, x + n) - *std::min_element(x, x + n);
}
