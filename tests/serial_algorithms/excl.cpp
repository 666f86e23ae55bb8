/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <functional>
#include <numeric>
void excl(const float* x, float* y, int n) { std::exclusive_scan(x, x + n, y, 0.0f); }
