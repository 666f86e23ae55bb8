/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
z = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
#include <functional>
void trans3(const float* x, const float* z, float* y, int n) {
  std::transform(x, x + n, z, y, std::multiplies<float>());
}
