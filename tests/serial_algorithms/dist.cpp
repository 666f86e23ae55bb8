/* kernelwright
[sizes]
n = 3000
m = 40
[arguments]
x = { shape = ["m", "n"] }
y = { shape = ["m"] }
*/
#include <algorithm>
void dist(const float* x, int* y, int n, int m) {
  for (int i = 0; i < m; i++)
    y[i] = std::distance(x + i * n, std::max_element(x + i * n, x + (i + 1) * n));
}
