/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
z = { shape = ["n"] }
y = { shape = [1] }
*/
#include <numeric>
void inner(const float* x, const float* z, float* y, int n) {
  *y = std::inner_product(x, x + n, z, 0.0f);
}
