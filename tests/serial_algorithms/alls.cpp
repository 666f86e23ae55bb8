/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [3] }
*/
#include <algorithm>
void alls(const float* x, int* y, int n) {
  y[0] = std::all_of(x, x + n, [](float v) { return v < 9; });
  y[1] = std::none_of(x, x + n, [](float v) { return v < -3.2f; });
  y[2] = std::count(x, x + n, 0.0f);
}
