/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = [100, 50] }
y = { shape = [100, 50] }
*/
#include <algorithm>
#include <cmath>
void soft(const float* x, float* y) {
  for (int r = 0; r < 100; ++r) {
    const float* row = x + r * 50;
    const float top = *std::max_element(row, row + 50);
    float s = 0;
    for (int j = 0; j < 50; ++j) s += y[r * 50 + j] = std::exp(row[j] - top);
    std::for_each(y + r * 50, y + r * 50 + 50, [s](float& v) { v /= s; });
  }
}
