/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <algorithm>
#include <vector>
void vin(std::vector<float> const& x, std::vector<float>& y) {
  std::transform(x.begin(), x.end(), y.begin(), [](float v) { return v * v; });
}
