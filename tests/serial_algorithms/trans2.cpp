/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
z = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
void trans2(const float* x, const float* z, float* y, int n) {
  std::transform(x, x + n, z, y, [](float v, float w) { return v * w + 1; });
}
