/* kernelwright
[sizes]
n = 1000000
[arguments]
x = { shape = ["n"] }
*/
#include <cmath>
#include <cstddef>
#include <vector>

template <typename P>
static int search(std::size_t from, std::size_t to, P jumps) {
  int found = -1;
  for (std::size_t i = from; i < to; ++i) {
    if (jumps(i)) {
      found = static_cast<int>(i);
      break;
    }
  }
  return found;
}

int jump(const std::vector<float>& x) {
  return search(1, x.size(), [&x](std::size_t i) { return std::fabs(x[i] - x[i - 1]) > 6.3f; });
}
