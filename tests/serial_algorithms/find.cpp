/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <algorithm>
void find(const float* x, int* y, int n) {
  y[0] = std::find_if(x, x + n, [](float v) { return v > 2.5f; }) - x;
}
