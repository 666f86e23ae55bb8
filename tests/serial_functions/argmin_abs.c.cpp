/* kernelwright
[sizes]
n = 4000
[arguments]
x = { shape = ["n"] }
at = { shape = [1] }
*/
#include <cmath>
#include <cstddef>
void find(const float* x, long* at, std::size_t n) {
  std::size_t k = 0;
  for (std::size_t i = 1; i < n; ++i)
    if (std::abs(x[i] - 0.5f) < std::abs(x[k] - 0.5f)) k = i;
  *at = static_cast<long>(k);
}
