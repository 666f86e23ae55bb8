/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
*/
#include <cstddef>
#include <vector>
bool is_below(std::vector<float> const& x) {
  for (std::size_t i = 0; i < x.size(); i++) {
    if (x[i] < -3.0f) return true;
  }
  return false;
}
