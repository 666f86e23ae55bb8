/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <algorithm>
void where(const float* x, int* y, int n) { *y = std::min_element(x, x + n) - x; }
