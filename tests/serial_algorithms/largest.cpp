/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <algorithm>
void largest(const float* x, float* y, int n) { *y = *std::max_element(x, x + n); }
