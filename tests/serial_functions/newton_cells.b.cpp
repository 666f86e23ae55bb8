/* kernelwright
[sizes]
n = 20000
[arguments]
x = { shape = ["n"], values = "positive" }
root = { shape = ["n"] }
turns = { shape = ["n"] }
*/
#include <cmath>
template <class F, class D> static double solve(double y, F f, D df, int &k) {
  for (k = 0; k < 50; ++k) {
    const double off = f(y);
    if (std::abs(off) <= 1e-9) return y;
    y -= off / df(y);
  }
  return y;
}
void roots(const double *x, double *root, int *turns, int n) {
  for (int i = 0; i < n; ++i) {
    const double goal = x[i];
    root[i] = solve(goal, [goal](double y) { return y * y * y - goal; }, [](double y) { return 3 * y * y; }, turns[i]);
  }
}
