/* kernelwright
[sizes]
n = 150
[arguments]
re = { shape = ["n"] }
im = { shape = ["n"] }
ore = { shape = ["n"] }
oim = { shape = ["n"] }
*/
#include <cmath>
struct pair2 { float a, b; };
static pair2 turn(float re, float im, float w) {
  return {re * std::cos(w) - im * std::sin(w), re * std::sin(w) + im * std::cos(w)};
}
void fourier(const float* re, const float* im, float* ore, float* oim, int n) {
  for (int k = 0; k < n; ++k) {
    float sa = 0, sb = 0;
    for (int t = 0; t < n; ++t) {
      const pair2 v = turn(re[t], im[t], -6.2831853f * static_cast<float>((k * t) % n) / static_cast<float>(n));
      sa += v.a;
      sb += v.b;
    }
    ore[k] = sa, oim[k] = sb;
  }
}
