/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <numeric>
void tern(const float* x, float* y, int n) {
  *y = x[0] > 0 ? std::accumulate(x, x + n, 0.0f) : 1.0f;
}
