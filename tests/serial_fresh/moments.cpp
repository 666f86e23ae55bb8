/* kernelwright
[sizes]
n = 30000
[arguments]
x = { shape = ["n"] }
stats = { shape = [4] }
*/
#include <cmath>
void moments(const float* x, float* stats, int n) {
  double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
  for (int i = 0; i < n; ++i) m1 += x[i];
  m1 /= n;
  for (int i = 0; i < n; ++i) {
    const double d = x[i] - m1, d2 = d * d;
    m2 += d2;
    m3 += d2 * d;
    m4 += d2 * d2;
  }
  m2 /= n; m3 /= n; m4 /= n;
  stats[0] = m1; stats[1] = m2; stats[2] = m3 / std::pow(m2, 1.5); stats[3] = m4 / (m2 * m2) - 3;
}
