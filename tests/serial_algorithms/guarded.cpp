/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
#include <cmath>
#include <numeric>
void guarded(const float* x, float* y, int n) {
  if (std::any_of(x, x + n, [](float v) { return v > 3.0f; })) {
    const float top = *std::max_element(x, x + n);
    std::transform(x, x + n, y, [top](float v) { return v / top; });
  } else {
    std::copy(x, x + n, y);
  }
  for (int i = 0; i < n; ++i) y[i] += 1.0f;
}
