/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
#include <limits>
void minima(const float* x, float* y, int n) {
  float least = std::numeric_limits<float>::max();
  int i = 0;
  while (i < n) { least = std::min(least, x[i]); y[i] = least; i++; }
}
