/* kernelwright
[sizes]
n = 9000
[arguments]
p = { shape = ["n", 3] }
lo = { shape = [3] }
hi = { shape = [3] }
*/
#include <algorithm>
#include <array>
void bbox(const float* p, float* lo, float* hi, int n) {
  std::array<float, 3> a{p[0], p[1], p[2]}, b = a;
  for (int i = 1; i < n; ++i)
    for (int c = 0; c < 3; ++c) {
      a[c] = std::min(a[c], p[3 * i + c]);
      b[c] = std::max(b[c], p[3 * i + c]);
    }
  for (int c = 0; c < 3; ++c) { lo[c] = a[c]; hi[c] = b[c]; }
}
