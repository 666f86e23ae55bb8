/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = ["n"] }
*/
#include <numeric>
void adj(const float* x, float* y, int n) { std::adjacent_difference(x, x + n, y); }
