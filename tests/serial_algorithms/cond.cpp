/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <numeric>
void cond(const float* x, float* y, int n) {
  if (x[0] > 0)
    *y = std::accumulate(x, x + n, 0.0f);
  else
    *y = std::accumulate(x, x + n / 2, 0.0f);
}
