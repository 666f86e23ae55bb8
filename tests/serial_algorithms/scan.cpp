/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <numeric>
void scan(const float* x, float* y, int n) { std::partial_sum(x, x + n, y); }
