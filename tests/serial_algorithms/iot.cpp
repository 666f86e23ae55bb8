/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <numeric>
void iot(const float* x, int* y, int n) {
  std::iota(y, y + n, 0);
  for (int i = 0; i < n; ++i)
    if (x[i] < 0) y[i] = -1;
}
