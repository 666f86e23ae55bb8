/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <numeric>
#include <cmath>
struct Plus {
  double operator()(double a, double b) const { return a + b; }
};
static double sq(double a, double b) { return a + b * b; }
void named(const float* x, float* y, int n) { *y = std::sqrt(std::accumulate(x, x + n, 0.0, sq)); }
