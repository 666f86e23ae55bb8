/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <algorithm>
void anyof(const float* x, int* y, int n) {
  y[0] = std::any_of(x, x + n, [](float v) { return v > 3.9f; });
}
