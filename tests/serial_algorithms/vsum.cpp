/* kernelwright
[sizes]
n = 3000
[arguments]
x = { shape = ["n"] }
y = { shape = [1] }
*/
#include <numeric>
#include <vector>
void vsum(std::vector<float> const& x, float* y) { *y = std::accumulate(x.begin(), x.end(), 0.0f); }
