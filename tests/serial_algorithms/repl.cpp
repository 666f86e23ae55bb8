/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"], inout = true }
*/
#include <algorithm>
#include <cmath>
void repl(float* x, int n) {
  std::replace_if(x, x + n, [](float v) { return v < 0; }, 0.0f);
  std::for_each(x, x + n, [](float& v) { v = std::sqrt(v); });
}
