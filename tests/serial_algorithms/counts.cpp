/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <algorithm>
void counts(const float* x, int* y, int n) {
  *y = std::count_if(x, x + n, [](float v) { return v > 0.5f; });
}
