/* kernelwright
[sizes]
rows = 100
n = 64
[arguments]
z = { shape = ["rows", "n"] }
p = { shape = ["rows", "n"] }
ent = { shape = ["rows"] }
*/
#include <cmath>
#include <algorithm>
void softmax_entropy(const float* z, float* p, float* ent, int rows, int n) {
  for (int r = 0; r < rows; ++r) {
    auto zr = z + r * n;
    auto pr = p + r * n;
    const float mx = *std::max_element(zr, zr + n);
    float s = 0;
    std::transform(zr, zr + n, pr, [&](float v) { float e = std::exp(v - mx); s += e; return e; });
    float h = 0;
    for (int j = 0; j < n; ++j) { pr[j] /= s; h -= pr[j] > 0 ? pr[j] * std::log(pr[j]) : 0; }
    ent[r] = h;
  }
}
