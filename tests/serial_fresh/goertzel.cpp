/* kernelwright
[sizes]
bins = 40
n = 128
[arguments]
x = { shape = ["n"] }
power = { shape = ["bins"] }
*/
#include <cmath>
void goertzel(const float* x, float* power, int bins, int n) {
  for (int k = 0; k < bins; ++k) {
    const double w = 2.0 * 3.14159265358979 * k / n, coeff = 2.0 * std::cos(w);
    double s1 = 0, s2 = 0;
    for (int i = 0; i < n; ++i) {
      const double s0 = x[i] + coeff * s1 - s2;
      s2 = s1;
      s1 = s0;
    }
    power[k] = static_cast<float>(s1 * s1 + s2 * s2 - coeff * s1 * s2);
  }
}
