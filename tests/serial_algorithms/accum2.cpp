/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <numeric>
void accum2(const float* x, float* y, int n) {
  double s = std::accumulate(x, x + n, 0.0, [](double a, float b) { return a + b * b; });
  *y = s;
}
