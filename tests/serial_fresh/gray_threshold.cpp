/* kernelwright
[sizes]
n = 20000
[arguments]
rgb = { shape = ["n", 3], values = "uniform" }
mask = { shape = ["n"] }
cut = { value = 0.5 }
*/
#include <cstdint>
template <typename T> static inline T luma(T r, T g, T b) { return T(0.299) * r + T(0.587) * g + T(0.114) * b; }
void gray_threshold(const float* rgb, int* mask, float cut, int n) {
  const float* p = rgb;
  for (int i = 0; i != n; ++i, p += 3) mask[i] = luma(p[0], p[1], p[2]) > cut ? 255 : 0;
}
