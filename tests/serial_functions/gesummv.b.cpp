/* kernelwright
[sizes]
n = 80
[arguments]
left = { shape = ["n * n"] }
right = { shape = ["n * n"] }
vec = { shape = ["n"] }
out = { shape = ["n"] }
wl = { value = 1.5 }
wr = { value = 0.7 }
*/
#include <cstddef>
void two_products(const float* left, const float* right, const float* vec,
                  float* out, float wl, float wr, std::size_t n) {
  for (std::size_t k = 0; k != n; ++k) {
    const float* lrow = left + k * n;
    const float* rrow = &right[k * n];
    float lsum{0.0f}, rsum{0.0f};
    for (std::size_t i = 0; i != n; ++i) { lsum += lrow[i] * vec[i]; rsum += rrow[i] * vec[i]; }
    out[k] = wl * lsum + wr * rsum;
  }
}
