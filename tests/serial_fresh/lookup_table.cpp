/* kernelwright
[sizes]
n = 5000
m = 64
[arguments]
x = { shape = ["n"], values = "uniform" }
y = { shape = ["n"] }
*/
// piecewise linear: knots are squares, found by bisection
void interpolate(const float* x, float* y, int n, int m) {
  for (int i = 0; i < n; ++i) {
    int lo = 0, hi = m - 1;
    while (hi - lo > 1) {
      const int mid = (lo + hi) / 2;
      const float knot = float(mid) * mid / ((m - 1) * (m - 1));
      if (knot <= x[i]) lo = mid; else hi = mid;
    }
    const float a = float(lo) * lo / ((m - 1) * (m - 1)), b = float(hi) * hi / ((m - 1) * (m - 1));
    const float t = (x[i] - a) / (b - a);
    y[i] = (1 - t) * lo + t * hi;
  }
}
